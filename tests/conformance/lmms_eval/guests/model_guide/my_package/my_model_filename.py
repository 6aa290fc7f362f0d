from lmms_eval.api.registry import register_model
@register_model("<name1>", "<name2>")
class MyCustomLM(LM):
    def __init__(self, pretrained: str = "nothing", batch_size: Optional[int] = 1) -> None:
        self.batch_size = batch_size

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        return [(-float(len(instance.args[1])), 0) for instance in requests]

    def generate_until(self, requests: list[Instance]) -> list[str]:
        shown = [(a[2](self.task_dict[a[4]][a[5]][a[3]])[0].getpixel((0, 0)), a) for a in (i.args for i in requests)]
        return ["red" if pixel[0] else "blue" if pixel[2] else "green" for pixel, _ in shown]
