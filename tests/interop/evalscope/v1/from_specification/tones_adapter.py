"""Sound: a recording before the question, and an error rate of words."""

import base64

from evalscope.api.benchmark import AudioLanguageAdapter, BenchmarkMeta
from evalscope.api.dataset import Sample
from evalscope.api.messages import ChatMessageUser, ContentAudio, ContentText
from evalscope.api.metric import Score
from evalscope.api.registry import get_metric, register_benchmark
from evalscope.constants import Tags


@register_benchmark(
    BenchmarkMeta(
        name="tones",
        pretty_name="Tones",
        dataset_id="made/tones",
        description="Notes to be named by ear.",
        tags=[Tags.AUDIO],
        metric_list=["wer", "acc"],
        primary_metric="acc",
        eval_split="test",
        prompt_template="What do you hear? Say the note.",
    )
)
class TonesAdapter(AudioLanguageAdapter):
    def load_from_disk(self, **kwargs):
        return super().load_from_disk(use_local_loader=True)

    def record_to_sample(self, record):
        audio = base64.b64decode(record["audio"])
        data = "data:audio/wav;base64," + base64.b64encode(audio).decode()
        return Sample(
            input=[
                ChatMessageUser(
                    content=[ContentAudio(audio=data, format="wav"), ContentText(text=self.prompt_template)]
                )
            ],
            target=record["note"],
            metadata={"hertz": record["hertz"]},
        )

    def match_score(self, original_prediction, filtered_prediction, reference, task_state):
        wer = get_metric("wer")()
        return Score(
            value={
                "wer": float(wer(prediction=filtered_prediction, reference=reference)),
                "acc": float(filtered_prediction.strip().lower() == reference),
            },
            extracted_prediction=filtered_prediction,
            prediction=original_prediction,
            main_score_name="acc",
        )
