"""By what the samples of a generative run are judged, as the run keeps it: nothing is trained to evaluate it again.

features/network.safetensors    the weights of the network that makes features of examples
features/training.safetensors   the features of training examples, as `features`
features/features.json          what kind of features they are
features/SHA256SUMS             of these
"""

from pathlib import Path

from torch import Tensor

from gradlab.errors import GradlabError, TrainingError, one_line
from gradlab.files import Damaged, check_sums, json_text, read_json, write_folder, write_sums
from gradlab.files.formats import FeaturesFile
from gradlab.files.tensors import load_tensors, save_tensors
from gradlab.specs import Spec
from gradlab.tasks.finite import not_finite
from gradlab.tasks.generative import Judge
from gradlab.tasks.generative.features import feature_network

_NETWORK, _TRAINING, _KIND = "network.safetensors", "training.safetensors", "features.json"


def write_judge(judge: Judge, folder: Path) -> None:
    """Keep it in a folder, in place of an earlier one."""
    weights = {name: tensor.cpu() for name, tensor in judge.network.state_dict().items()}
    with write_folder(folder, exists="replace", kind=TrainingError) as new:
        save_tensors(new / _NETWORK, weights)
        save_tensors(new / _TRAINING, {"features": judge.training})
        (new / _KIND).write_text(json_text({"kind": judge.kind, "dimension": judge.dimension}) + "\n")
        write_sums(new)


def read_judge(folder: Path, spec: Spec, most: int) -> Judge | None:
    """The one in a folder, for examples of this kind and so many samples; None where there is none."""
    if not folder.exists():
        return None
    check_sums(folder, {_NETWORK, _TRAINING, _KIND})
    described = read_json(folder / _KIND, FeaturesFile)
    network = feature_network(described["kind"], spec)
    try:
        network.load_state_dict(_load_finite(folder / _NETWORK))
    except RuntimeError as error:
        raise GradlabError(f"{folder / _NETWORK} does not fit the data of its run. {one_line(error)}") from None
    features = _load_finite(folder / _TRAINING).get("features")
    if features is None or features.shape[1:] != (described["dimension"],):
        raise Damaged(folder / _TRAINING, f"it has no features of {described['dimension']} numbers")
    return Judge(described["kind"], network, features, most)


def _load_finite(path: Path) -> dict[str, Tensor]:
    tensors = load_tensors(path)
    for name in not_finite(tensors):
        raise Damaged(path, f"{name} is not finite")
    return tensors
