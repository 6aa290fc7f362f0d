"""The modules of VLMEvalKit's shim that have behaviour and that ULMEvalKit does not have."""
