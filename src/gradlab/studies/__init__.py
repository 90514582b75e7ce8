"""Several trainings of one recipe, to learn something about it.

    from gradlab.recipes import find
    from gradlab.studies.folds import cross_validate
    cross_validate(find("wine-mlp"), 5, Path("runs/wine-folds"), torch.device("cpu")).test["accuracy"].mean

Each study is a module with a function that returns a frozen dataclass; what it writes is a `folder.StudyFolder`, and
its report is made by the module of the same name in `pages`.
"""
