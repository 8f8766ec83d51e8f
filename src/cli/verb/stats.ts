/** Figures of the store. */
import { locateStore } from "../../store/registry.ts";
import { bytes, count } from "../format/text.ts";
import { verb } from "../command/verb.ts";

export const stats = verb({
  name: "stats",
  line: "Show figures of the store.",
  args: [],
  options: {},
  about: [
    "bytesPerContentByte is what the store takes on disk for each byte that was said. On PostgreSQL the " +
      "size is that of all tenants together, and so neither it nor bytesPerRecord can be told.",
  ],
  examples: ["skein stats  # sizes and counts", "skein stats --json | jq .records  # for programs"],
  async run({ out, store, place }) {
    const figures = await (await store()).stats();
    const { contentBytes, blobBytes, records } = figures;
    const said = contentBytes + blobBytes;
    // The counts are of one tenant, the size in PostgreSQL is of all.
    const ofAll = figures.driver === "postgres";
    const own = ofAll ? null : figures.bytes;
    const ratio = own === null || said === 0 ? null : Number((own / said).toFixed(2));
    const perRecord = own === null || records === 0 ? null : Math.round(own / records);
    const row = (name: string, value: string) => `${out.dim(name.padEnd(14))}${value}`;
    const { shown } = await locateStore(place);
    await out.answer(
      { path: shown, ...figures, bytesPerContentByte: ratio, bytesPerRecord: perRecord },
      () => [
        row("store", shown),
        row("driver", `${figures.driver} ${figures.version}, durable to ${figures.durability}`),
        row(
          "size",
          figures.bytes === null ? "unknown" : bytes(figures.bytes) + (ofAll ? ", all tenants" : ""),
        ),
        row("sessions", count(figures.sessions)),
        row("records", count(records) + (perRecord === null ? "" : `, ${bytes(perRecord)} each on disk`)),
        row(
          "contents",
          bytes(contentBytes) + (ratio === null ? "" : `, ${ratio} bytes on disk for each byte said`),
        ),
        row("snapshots", `${count(figures.snapshots)}, ${bytes(figures.snapshotBytes)}`),
        row("segments", `${count(figures.segments)}, ${bytes(figures.segmentBytes)}`),
        row("blobs", `${count(figures.blobs)}, ${bytes(blobBytes)}`),
        ...(figures.unscrubbed ? [row("scrub", "pending: the files may hold traces of erased content")] : []),
      ],
    );
  },
});
