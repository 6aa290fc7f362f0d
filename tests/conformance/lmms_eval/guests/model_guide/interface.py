class MyCustomLM(lmms):
    #...
    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        #...
        found = []
        for instance in requests:
            contexts, doc_to_target, doc_to_visual, doc_id, task, split = instance.args
            row = self.task_dict[task][split][doc_id]
            is_right = doc_to_target(row).strip() == row["colour"]
            found.append((-1.0 if is_right else -5.0, is_right))
        return found
    def generate_until(self, requests: list[Instance]) -> list[str]:
        #...
        found = []
        for instance in requests:
            contexts, all_gen_kwargs, doc_to_visual, doc_id, task, split = instance.args
            picture = doc_to_visual(self.task_dict[task][split][doc_id])[0]
            red, green, blue = picture.getpixel((0, 0))
            found.append("red" if red else "blue" if blue else "green")
        return found
    #...
