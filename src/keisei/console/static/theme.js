// Before the first paint: what the visitor chose wins over what the system says.
const chosen = (() => { try { return localStorage.getItem("keisei-theme"); } catch { return null; } })();
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
document.documentElement.classList.add("scripted");
