from .my_model_filename import MyCustomLM
