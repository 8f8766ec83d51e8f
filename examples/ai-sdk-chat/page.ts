/** The page: `app/chat/[id]/page.tsx`, with the messages of `GET /api/chat/{id}`, loaded on the server. */
"use client";
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from "ai";
import { createElement as h, useState, type ReactElement } from "react";

const transport = new DefaultChatTransport({ api: "/api/chat" });

export function ChatPage({ id, loaded }: { readonly id: string; readonly loaded: UIMessage[] }): ReactElement {
  const [text, setText] = useState("");
  const { messages, status, error, sendMessage, addToolApprovalResponse } = useChat({
    id,
    messages: loaded,
    resume: true, // an answer in progress goes on after a reload
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const show = (part: UIMessage["parts"][number], key: number): ReactElement | null => {
    if (part.type === "text") return h("p", { key }, part.text);
    if (part.type !== "dynamic-tool") return null;
    if (part.state !== "approval-requested") return h("code", { key }, `${part.toolName}: ${part.state}`);
    const answer = (approved: boolean) => () => addToolApprovalResponse({ id: part.approval.id, approved });
    const ask = `${part.toolName} ${JSON.stringify(part.input)}?`;
    return h("p", { key }, ask, h("button", { onClick: answer(true) }, "Allow"), h("button", { onClick: answer(false) }, "Deny"));
  };
  const stop = () => fetch(`/api/chat/${encodeURIComponent(id)}/stream`, { method: "DELETE" });
  const submit = (event: { preventDefault(): void }) => {
    event.preventDefault();
    void sendMessage({ text });
    setText("");
  };
  return h(
    "main",
    null,
    messages.map((message) => h("section", { key: message.id }, h("b", null, message.role), message.parts.map(show))),
    error === undefined ? null : h("p", { role: "alert" }, error.message),
    status === "streaming" ? h("button", { onClick: stop }, "Stop") : null,
    h("form", { onSubmit: submit }, h("input", { value: text, onChange: (e) => setText(e.currentTarget.value) })),
  );
}
