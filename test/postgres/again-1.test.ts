/** Behaviour tests once more, on PostgreSQL: part 1 of those in the table of again.ts. */
import { runAgain } from "./again.ts";

await runAgain(1);
