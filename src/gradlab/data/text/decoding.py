"""Text of tokens that come one after the other, as a terminal shows it."""

import codecs

from gradlab.data.text.tokenizer import Tokenizer


class Decoding:
    """Gives the text of each token as soon as it is complete: a character may be several tokens of bytes.

    All that was given, and what `end` gives, is what `Tokenizer.decode` makes of the tokens together.

    >>> decoding = Decoding(Tokenizer.train("byte", ["any"]))
    >>> [decoding(byte) for byte in "né".encode()]
    ['n', '', 'é']
    """

    def __init__(self, tokenizer: Tokenizer):
        from tokenizers.decoders import DecodeStream

        self.tokenizer = tokenizer
        self.special = frozenset(tokenizer.special.values())
        # The library's own stream gives nothing more after bytes that form no character; a young model writes such.
        self.bytes = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.stream = DecodeStream(skip_special_tokens=True)
        self.last: list[int] = []

    def __call__(self, token: int) -> str:
        if token in self.special:
            return ""
        if self.tokenizer.lossless:
            return self.bytes.decode(self.tokenizer.tokens[token])
        if self.tokenizer.kind == "other":
            return self.stream.step(self.tokenizer.inner, token) or ""
        # Whether a blank stands between two words depends on these two alone.
        text = self.tokenizer.decode([*self.last, token]).removeprefix(self.tokenizer.decode(self.last))
        self.last = [token]
        return text

    def end(self) -> str:
        """What is left of a character that was not completed."""
        return self.bytes.decode(b"", final=True)
