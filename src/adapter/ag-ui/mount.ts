/** `/ag-ui` on `skein serve`: runs of AG-UI clients, with tokens. */
import type { Mount } from "../../server/http/mount.ts";

/** For `new HttpAgent({ url: "http://…/ag-ui/AGENT", headers })`, with a bearer token. */
export const agUiMount: Mount = {
  prefix: "/ag-ui",
  load: async () => (await import("./requests.ts")).answerRun,
};
