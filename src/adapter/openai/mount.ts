/** `/openai` on `skein serve`: for `new OpenAI({ baseURL: "http://…/openai/v1", apiKey: TOKEN })`. */
import type { Mount } from "../../server/http/mount.ts";

export const openaiMount: Mount = {
  prefix: "/openai",
  cors: { methods: ["DELETE"] },
  load: async () => (await import("./requests.ts")).answerOpenai,
};
