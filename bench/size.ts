/** Bytes on disk beside the bytes of the contents. */
import { openEngine } from "../src/index.ts";
import { checkpointedBytes } from "./history.ts";
import { inputOf, makeDirectory, number, type Measure } from "./measure.ts";

const sessions = 64;
const events = 2_000;
const contentBytes = 1_024;

/** Sessions that grow side by side, each append a commit's worth of one record, as in real use. */
export async function benchSize(): Promise<Measure[]> {
  using directory = makeDirectory();
  const path = directory.path("size.db");
  const text = inputOf(contentBytes);
  {
    await using engine = await openEngine({ store: path, durability: "process" });
    const handles = await Promise.all(
      Array.from({ length: sessions }, () => engine.open({ objective: "size" })),
    );
    await Promise.all(
      handles.map(async (session) => {
        for (let i = 0; i < events; i++) await session.append(text);
      }),
    );
  }
  const bytes = checkpointedBytes(path);
  await using engine = await openEngine({ store: path, durability: "process" });
  const stats = await engine.stats();
  await engine.search("lorem", { limit: 1 });
  await engine.close();
  const searchBytes = checkpointedBytes(path) - bytes;
  const share = stats.snapshotBytes / (bytes - stats.snapshotBytes);
  const megabytes = (count: number): string => `${number(count / 1e6)} MB`;
  const detail = `${megabytes(bytes)} for ${megabytes(stats.contentBytes)}, ${stats.records} records`;
  return [
    {
      name: "file ÷ contents of 1,024 bytes, snapshots in",
      value: bytes / stats.contentBytes,
      unit: "×",
      bar: { most: 1.3 },
      detail,
    },
    {
      name: "snapshots ÷ log",
      value: share * 100,
      unit: "%",
      bar: { most: 5 },
      detail: `${stats.snapshots} snapshots`,
    },
    {
      name: "search ÷ contents, reported apart",
      value: searchBytes / stats.contentBytes,
      unit: "×",
      bar: null,
      detail: "",
    },
  ];
}
