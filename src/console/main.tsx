/** The entry point of the console. */
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { loginFromAddress } from "./connection.ts";
import { loadParts } from "./lazy.tsx";
import { startShortcuts } from "./shortcut.ts";
import { startTheme } from "./theme.ts";
import "./base.css";
import "./ui/ui.css";
import "./shell.css";

startTheme();
startShortcuts();
await loginFromAddress();
const page = document.getElementById("page");
if (page !== null) createRoot(page).render(<App />);
// Behind the first view.
requestAnimationFrame(() => void loadParts());
