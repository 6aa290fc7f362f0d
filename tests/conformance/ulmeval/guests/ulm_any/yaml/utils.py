from PIL import ImageColor


def process_results(doc, results):
    wanted = ImageColor.getrgb(doc["colour"])
    return {"right": sum(picture.convert("RGB").getpixel((0, 0)) == wanted for picture in results) / len(results)}
