/** In the place of the real tokenizer, for programs that are started only to be killed. */
export const countTokens = (text: string): number => Math.ceil(text.length / 4);
