// The copy button of a console block copies the commands alone, without prompts and output.
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-clipboard-target]");
  const code = button && document.querySelector(button.dataset.clipboardTarget);
  if (!code || !code.querySelector(".gp")) return;
  let continues = false;
  const commands = code.innerText.split("\n").filter((line) => {
    const isCommand = continues || line.startsWith("$ ");
    continues = isCommand && line.endsWith("\\");
    return isCommand;
  });
  button.dataset.clipboardText = commands.map((line) => line.replace(/^\$ /, "")).join("\n");
}, true);
