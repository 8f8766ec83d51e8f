/** Sets the theme before the first paint: the reader's choice, shared with the console, or the system's. */
const stored = localStorage.getItem("skein-theme");
const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
document.documentElement.dataset["theme"] = stored === "dark" || stored === "light" ? stored : system;
