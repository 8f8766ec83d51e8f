/** Fixtures with contents of each kind: tools, resources and prompts. */
import { completable, ResourceTemplate, type McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";

/** One red dot. */
const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/** A header without samples. */
const wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
const image = { type: "image" as const, data: png, mimeType: "image/png" };
const text = (words: string) => ({ type: "text" as const, text: words });
const embedded = (uri: string, mimeType: string, words: string) => ({
  type: "resource" as const,
  resource: { uri, mimeType, text: words },
});
const none = { description: "A fixture" };

export function registerContents(server: McpServer): void {
  const gives = (
    name: string,
    ...content: (
      | ReturnType<typeof text>
      | typeof image
      | ReturnType<typeof embedded>
      | { type: "audio"; data: string; mimeType: string }
    )[]
  ) => server.registerTool(name, none, () => ({ content }));
  gives("test_simple_text", text("This is a simple text response for testing."));
  gives("test_image_content", image);
  gives("test_audio_content", { type: "audio", data: wav, mimeType: "audio/wav" });
  const plain = "This is an embedded resource content.";
  gives("test_embedded_resource", embedded("test://embedded-resource", "text/plain", plain));
  const json = JSON.stringify({ test: "data", value: 123 });
  const mixed = embedded("test://mixed-content-resource", "application/json", json);
  gives("test_multiple_content_types", text("Multiple content types test:"), image, mixed);
  registerResources(server);
  registerPrompts(server);
}

function registerResources(server: McpServer): void {
  const read = (uri: string, mimeType: string, content: { text: string } | { blob: string }) =>
    server.registerResource(uri, uri, { ...none, mimeType }, () => ({
      contents: [{ uri, mimeType, ...content }],
    }));
  read("test://static-text", "text/plain", { text: "This is the content of the static text resource." });
  read("test://static-binary", "image/png", { blob: png });
  read("test://watched-resource", "text/plain", { text: "Watched." });
  const template = new ResourceTemplate("test://template/{id}/data", { list: undefined });
  const mimeType = "application/json";
  server.registerResource("test-template", template, { ...none, mimeType }, ({ href: uri }, { id }) => {
    const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` });
    return { contents: [{ uri, mimeType, text: data }] };
  });
}

function registerPrompts(server: McpServer): void {
  const user = <C>(content: C) => ({ role: "user" as const, content });
  server.registerPrompt("test_simple_prompt", none, () => ({
    messages: [user(text("This is a simple prompt for testing."))],
  }));
  const places = ["paris", "park", "party"];
  const arg1 = completable(z.string(), (given) => places.filter((place) => place.startsWith(given)));
  const argsSchema = z.object({ arg1, arg2: z.string() });
  server.registerPrompt(
    "test_prompt_with_arguments",
    { ...none, argsSchema },
    ({ arg1: one, arg2: two }) => ({
      messages: [user(text(`Prompt with arguments: arg1='${one}', arg2='${two}'`))],
    }),
  );
  const embeds = z.object({ resourceUri: z.string() });
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { ...none, argsSchema: embeds },
    ({ resourceUri }) => ({
      messages: [
        user(embedded(resourceUri, "text/plain", "Embedded resource content for testing.")),
        user(text("Please process the embedded resource above.")),
      ],
    }),
  );
  server.registerPrompt("test_prompt_with_image", none, () => ({
    messages: [user(image), user(text("Please analyze the image above."))],
  }));
}
