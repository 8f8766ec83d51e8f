/** The build of the console: static files in dist/console, which the server serves. */
import { join } from "node:path";
import { defineConfig } from "vite";

const root = import.meta.dirname;

// Vite requires a default export.
export default defineConfig({
  root,
  base: "/",
  clearScreen: false,
  build: {
    outDir: join(root, "../../dist/console"),
    emptyOutDir: true,
    target: "es2024",
    modulePreload: { polyfill: false },
    // The page loads its images from files: none is inlined into a script or a style.
    assetsInlineLimit: 0,
    // Styles keep the order of the sources, whichever view is loaded first.
    cssCodeSplit: false,
    reportCompressedSize: false,
  },
  // For work on the page itself: `npx vite src/console`, next to a server on its usual port.
  server: { proxy: { "/v1": "http://127.0.0.1:7717", "/healthz": "http://127.0.0.1:7717" } },
});
