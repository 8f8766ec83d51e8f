/** The page: `app/chat/[id]/page.tsx`, with the messages of `GET /api/chat/{id}`, loaded on the server. */
"use client";
import { useChat } from "@ai-sdk/react";
import { lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from "ai";
import { createElement as h, type ReactElement } from "react";

export function ChatPage({
  id,
  loaded,
}: {
  readonly id: string;
  readonly loaded: UIMessage[];
}): ReactElement {
  const { messages, error, sendMessage, addToolApprovalResponse } = useChat({
    id,
    messages: loaded,
    resume: true, // an answer in progress goes on after a reload
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const show = (part: UIMessage["parts"][number], key: number): ReactElement | null => {
    if (part.type === "text") return h("p", { key }, part.text);
    if (part.type !== "dynamic-tool") return null;
    if (part.state !== "approval-requested") return h("code", { key }, `${part.toolName}: ${part.state}`);
    const decide = (approved: boolean) =>
      h(
        "button",
        { onClick: () => addToolApprovalResponse({ id: part.approval.id, approved }) },
        String(approved),
      );
    return h("p", { key }, `${part.toolName} ${JSON.stringify(part.input)}?`, decide(true), decide(false));
  };
  const stop = () => fetch(`/api/chat/${encodeURIComponent(id)}/stream`, { method: "DELETE" });
  const send = (form: FormData) => void sendMessage({ text: form.get("text") as string });
  const shown = messages.map(({ id: key, role, parts }) =>
    h("section", { key }, h("b", null, role), parts.map(show)),
  );
  const failed = error === undefined ? null : h("p", { role: "alert" }, error.message);
  const stopping = h("button", { onClick: stop }, "Stop");
  return h("main", null, shown, failed, stopping, h("form", { action: send }, h("input", { name: "text" })));
}
