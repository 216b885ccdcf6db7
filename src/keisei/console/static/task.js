// The form of a new task: the type's own example at once, and JSON that is wrong is told before it is sent.

for (const each of document.querySelectorAll("select[data-submits]")) {
  each.addEventListener("change", () => each.form.requestSubmit());
}

for (const area of document.querySelectorAll("textarea[data-json]")) {
  const fault = document.querySelector("[data-json-fault]");
  const look = () => {
    let words = "";
    try {
      const told = JSON.parse(area.value || "{}");
      if (told === null || typeof told !== "object" || Array.isArray(told)) words = "A payload is a JSON object.";
    } catch (error) {
      words = `This is not JSON yet: ${error.message}`;
    }
    fault.textContent = words;
    area.setCustomValidity(words);
  };
  area.addEventListener("input", look);
  look();
}
