/** The to-do list of a session: some tools replace it whole, Claude Code also changes single items. */
import type { TranscriptTask } from "../model.ts";
import { fieldsOf, listOf, nameOf, textOf } from "./json-value.ts";

export class TaskList {
  #tasks = new Map<string, TranscriptTask>();
  /** `TaskCreate` calls whose result will tell the task's id. */
  readonly #created = new Map<string, TranscriptTask>();

  call(id: string, name: string, input: unknown): void {
    const fields = fieldsOf(input);
    if (name === "TodoWrite" && Array.isArray(fields["todos"])) this.replace(fields["todos"]);
    else if (name === "TaskCreate") {
      const text = nameOf(fields["subject"]) ?? nameOf(fields["description"]);
      if (text !== null) this.#created.set(id, { key: "", text, status: "open" });
    } else if (name === "TaskUpdate") {
      const key = taskKey(fields["taskId"]);
      const task = this.#tasks.get(key);
      if (task === undefined) return;
      const text = nameOf(fields["subject"]) ?? task.text;
      const status = fields["status"] === undefined ? task.status : statusOf(fields["status"]);
      this.#tasks.set(key, { key, text, status });
    }
  }

  result(call: string, structured: unknown): void {
    const task = this.#created.get(call);
    if (task === undefined) return;
    this.#created.delete(call);
    const id = taskKey(fieldsOf(fieldsOf(structured)["task"])["id"]);
    const key = id === "" ? String(this.#tasks.size + 1) : id;
    this.#tasks.set(key, { ...task, key });
  }

  replace(todos: unknown): void {
    this.#tasks = new Map(
      listOf(todos).flatMap((item, at) => {
        const fields = fieldsOf(item);
        const text = nameOf(fields["content"]) ?? nameOf(fields["step"]) ?? nameOf(fields["text"]);
        const key = nameOf(fields["id"]) ?? String(at + 1);
        return text === null ? [] : [[key, { key, text, status: statusOf(fields["status"]) }] as const];
      }),
    );
  }

  get tasks(): readonly TranscriptTask[] {
    return [...this.#tasks.values()];
  }
}

const taskKey = (value: unknown): string =>
  typeof value === "number" ? String(value) : (textOf(value) ?? "");

function statusOf(status: unknown): TranscriptTask["status"] {
  if (status === "completed" || status === "done") return "done";
  return status === "cancelled" || status === "deleted" ? "dropped" : "open";
}
