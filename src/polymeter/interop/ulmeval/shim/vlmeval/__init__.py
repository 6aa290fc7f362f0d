"""What VLMEvalKit's modules do that ULMEvalKit does not have."""
