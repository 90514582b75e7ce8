"""gradlab beside its peers, so that every claim can be measured again."""
