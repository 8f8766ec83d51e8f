/** The words of logs, for `rank`, and vectors of their texts, in the memory driver. */
import type { SearchStore } from "../port.ts";
import { gapsIn, postingsOf, rankedAmong, rankedWords, rankMatches, type WordMatches } from "../word-rank.ts";
import type { DerivedState } from "./derived.ts";
import { headSeqOf, livingLog } from "./log.ts";

type LogWords = Pick<SearchStore, "wordGaps" | "addWords" | "rank" | "putVectors" | "vectors">;

export function logWords(state: DerivedState): LogWords {
  const { logs } = state;
  return {
    async wordGaps(session, toSeq) {
      const log = livingLog(logs, session);
      if (log === undefined) return { gaps: [], erasures: state.erasures };
      const steps = log.wordSteps.map(({ fromSeq, toSeq: last }) => [fromSeq, last] as const);
      const range = [log.firstSeq, Math.min(toSeq, headSeqOf(log))] as const;
      const gaps = gapsIn(
        range,
        steps.toSorted(([a], [b]) => a - b),
      );
      return { gaps, erasures: state.erasures };
    },
    async addWords(step) {
      const { session, fromSeq, toSeq, erasures } = step;
      const log = livingLog(logs, session);
      if (log === undefined || erasures !== state.erasures) return false;
      if (fromSeq < log.firstSeq || toSeq < fromSeq || toSeq > headSeqOf(log)) return false;
      if (log.wordSteps.some((one) => one.fromSeq <= toSeq && one.toSeq >= fromSeq)) return false;
      log.wordSteps = [...log.wordSteps, step];
      return true;
    },
    async rank(words, { limit, logs: wanted }) {
      const asked = rankedWords(words);
      const matches: WordMatches[] = [];
      for (const { session, toSeq } of wanted) {
        const postings = (livingLog(logs, session)?.wordSteps ?? []).map(postingsOf);
        for (const word of asked) {
          const seqs = postings
            .flatMap((step) => step.get(word) ?? [])
            .filter((seq) => seq <= toSeq)
            .toSorted((a, b) => b - a)
            .slice(0, rankedAmong);
          if (seqs.length > 0) matches.push({ session, word, seqs });
        }
      }
      return rankMatches(matches, limit);
    },
    async putVectors(model, list, { erasures }) {
      if (erasures !== state.erasures) return false;
      for (const one of list) {
        const { session, seq, digest, vector } = one;
        const log = livingLog(logs, session);
        if (log === undefined || seq < log.firstSeq || seq > headSeqOf(log)) continue;
        log.vectors.set(`${model}\n${digest}\n${seq}`, { ...one, vector: vector.slice() });
      }
      return true;
    },
    async vectors(model, digests) {
      const vectors = new Map<string, Float32Array>();
      const wanted = new Set(digests);
      for (const log of logs.all.values()) {
        for (const [name, { digest, vector }] of log.vectors)
          if (wanted.has(digest) && name.startsWith(`${model}\n`)) vectors.set(digest, vector.slice());
      }
      return { vectors, erasures: state.erasures };
    },
  };
}
