/** Behaviour tests once more, on PostgreSQL: part 3 of those in the table of again.ts. */
import { runAgain } from "./again.ts";

await runAgain(3);
