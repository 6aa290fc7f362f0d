class Seer(lmms):
    def generate_until(self, requests):
        names = {(255, 0, 0): "red", (0, 0, 255): "blue", (0, 128, 0): "green"}
        found = []
        for context, gen_kwargs, doc_to_visual, doc_id, task, split in [one.args for one in requests]:
            (picture,) = doc_to_visual(self.task_dict[task][split][doc_id])
            assert task == "AnyAsked" and "colour" in context
            found.append(names[picture.convert("RGB").getpixel((0, 0))])
        return found

    def loglikelihood(self, requests):
        raise NotImplementedError

    def generate_until_multi_round(self, requests):
        raise NotImplementedError
