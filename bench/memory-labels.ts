/**
 * A labelled set for what is carried: entries and objectives, each with the subjects it is about, named by
 * hand. An entry is relevant to an objective when they share a subject. Some entries only look alike: they
 * share words with objectives and no subject. Some share a subject and no word: nothing but meaning joins
 * them, and they count as missed.
 */

export interface LabelledEntry {
  readonly subjects: string;
  readonly kind: "fact" | "decision";
  readonly key: string;
  readonly value: string;
  readonly because?: string;
}

const fact = (subjects: string, key: string, value: string): LabelledEntry => ({
  subjects,
  kind: "fact",
  key,
  value,
});
const decision = (subjects: string, key: string, value: string, because: string): LabelledEntry => ({
  subjects,
  kind: "decision",
  key,
  value,
  because,
});

export const entries: readonly LabelledEntry[] = [
  // Signing in
  fact(
    "login",
    "login-redirect",
    "After login users go to /home, and back to the page they came from if it is ours",
  ),
  fact("login session-cookie", "session-cookie", "Lives 30 minutes; SameSite=Lax; renewed with each request"),
  decision(
    "login passwords",
    "password-hashing",
    "argon2id with 64 MiB",
    "bcrypt cuts passwords at 72 bytes",
  ),
  fact(
    "login oauth",
    "oauth-google",
    "The Google client id is per environment; the callback is /auth/google/callback",
  ),
  fact("login lockout", "login-lockout", "After 5 failed logins an account is locked for 15 minutes"),
  decision("login mfa", "two-factor", "TOTP only, no SMS", "SMS codes can be intercepted"),
  // Billing
  fact("invoices numbering", "invoice-numbering", "Invoices are numbered without gaps per country and year"),
  decision("invoices vat", "vat-rounding", "VAT is rounded per line, half up", "the auditor asked for it"),
  fact("refunds", "refund-window", "Refunds are possible for 30 days; later ones need approval of finance"),
  fact(
    "payments webhooks",
    "stripe-webhooks",
    "Stripe webhooks may arrive twice; they are deduplicated by event id",
  ),
  decision(
    "invoices currencies",
    "currency-of-invoices",
    "Invoices are in the customer's currency",
    "sales promised it",
  ),
  fact("payments dunning", "dunning-schedule", "Failed payments are tried again after 3, 7 and 14 days"),
  // Database
  decision(
    "database migrations",
    "migration-tool",
    "Migrations are plain SQL files run by dbmate",
    "reviewable",
  ),
  fact(
    "database backup",
    "backup-schedule",
    "The database is dumped nightly at 02:00 UTC and kept for 35 days",
  ),
  fact("database replica", "read-replica-lag", "The read replica lags up to 4 seconds under load"),
  decision(
    "database indexes",
    "index-policy",
    "No new index without EXPLAIN output in the review",
    "writes got slow",
  ),
  fact(
    "database migrations locks",
    "migration-locks",
    "ALTER TABLE on orders takes a lock of about 90 seconds",
  ),
  fact(
    "database connections",
    "connection-pool",
    "The pool has 20 connections for each instance; Postgres allows 200",
  ),
  // Deployment
  fact("deploy", "deploy-branch", "main is deployed by itself after CI is green"),
  decision(
    "deploy rollback",
    "rollback-procedure",
    "Roll back by deploying the tag before",
    "never by a revert",
  ),
  fact(
    "deploy freeze",
    "deploy-freeze",
    "No deployments on Friday after 14:00 and in the last week of December",
  ),
  fact(
    "deploy kubernetes",
    "kubernetes-namespace",
    "Production runs in the namespace shop-prod with 6 replicas",
  ),
  fact(
    "deploy secrets",
    "secrets-location",
    "Secrets come from Vault under kv/shop; never from the repository",
  ),
  decision(
    "deploy canary",
    "canary-share",
    "A canary gets 5% of traffic for 20 minutes",
    "errors show up by then",
  ),
  // Front end
  decision(
    "frontend components",
    "component-library",
    "Components come from Radix, styled by Tailwind",
    "accessible",
  ),
  fact("frontend bundle", "bundle-budget", "The first bundle may have 180 kB gzipped; CI fails above"),
  fact("frontend dark-mode", "dark-mode", "Dark mode follows the system and can be switched in the profile"),
  decision("frontend state", "client-state", "Server state with TanStack Query, no Redux", "less code"),
  fact(
    "frontend i18n",
    "translations",
    "Translations are ICU messages in locales/*.json; German is complete, French is not",
  ),
  fact("frontend accessibility", "accessibility-level", "WCAG 2.2 AA; axe runs in CI"),
  // Testing
  fact(
    "tests flaky",
    "flaky-checkout-test",
    "The checkout test fails about once in 40 runs because of the clock",
  ),
  decision("tests", "test-data", "Tests build their data with factories, no fixtures", "fixtures rot"),
  fact("tests ci browser-tests", "ci-duration", "CI takes 11 minutes, of which 7 are the browser tests"),
  decision("tests coverage", "coverage-threshold", "No coverage threshold", "it made people test getters"),
  fact("tests ci", "ci-runner", "CI runs on self-hosted runners with 8 cores; arm64"),
  // Search
  decision(
    "search",
    "search-engine",
    "Product search is in OpenSearch 2.11",
    "facets in Postgres were too slow",
  ),
  fact(
    "search synonyms",
    "search-synonyms",
    "Synonyms of products are kept in synonyms.txt and need a reindex",
  ),
  fact("search reindex", "reindex-duration", "A full reindex of products takes 50 minutes"),
  fact("search ranking", "search-ranking", "Ranking boosts what is in stock by 1.5"),
  fact("search autocomplete", "autocomplete-latency", "Autocomplete must answer within 80 ms"),
  // E-mail
  fact("email", "mail-provider", "Mail goes out through Postmark; marketing through a stream of its own"),
  decision("email templates", "mail-templates", "Mail templates are MJML, compiled in CI", "Outlook"),
  fact("email bounces", "bounce-handling", "Hard bounces disable the address at once, soft ones after 5"),
  fact("email unsubscribe", "unsubscribe-header", "List-Unsubscribe is required by Gmail for newsletters"),
  // Performance
  fact(
    "performance orders-endpoint",
    "slow-endpoint",
    "GET /orders takes 900 ms at the 95th percentile because of N+1 queries",
  ),
  decision(
    "performance cache",
    "cache-layer",
    "Redis with a time to live of 60 s in front of the catalog",
    "measured",
  ),
  fact(
    "performance images",
    "image-sizes",
    "Product images are served as AVIF with a fallback to JPEG from the CDN",
  ),
  fact("performance cdn", "cdn-purge", "The CDN is purged by tag; a purge takes up to 30 s"),
  fact(
    "performance memory-leak",
    "memory-leak",
    "The worker leaks about 40 MB an hour; it is restarted each night",
  ),
  // Privacy
  fact(
    "privacy deletion",
    "gdpr-deletion",
    "Deletion requests are to be done within 30 days; logs are excluded",
  ),
  decision("privacy analytics", "analytics-consent", "No analytics before consent", "the law, and decency"),
  fact("privacy export", "data-export", "Customers can export their data as JSON from the account page"),
  fact("privacy retention", "log-retention", "Access logs are kept for 14 days, audit logs for 2 years"),
  // Mobile
  fact("mobile mobile-versions", "app-minimum-version", "The app supports iOS 16 and Android 10 and later"),
  decision("mobile push", "push-provider", "Push notifications through Firebase for both", "one integration"),
  fact(
    "mobile release",
    "app-release",
    "The app is released every second Tuesday; review by Apple takes a day",
  ),
  fact("mobile crash", "crash-reports", "Crashes of the app are reported to Sentry, project shop-app"),
  // Warehouse
  fact("warehouse stock", "stock-sync", "Stock comes from the warehouse every 5 minutes by SFTP as CSV"),
  fact(
    "warehouse shipping",
    "shipping-carriers",
    "Parcels go with DHL; above 31.5 kg with a freight forwarder",
  ),
  decision(
    "warehouse stock",
    "overselling",
    "We never oversell: stock is reserved in the cart for 20 minutes",
    "returns",
  ),
  fact("warehouse returns", "return-labels", "Return labels are made by the DHL API and valid for 14 days"),
  // Style and people
  decision(
    "style",
    "commit-messages",
    "Commit messages are imperative, up to 72 columns",
    "git log reads well",
  ),
  decision(
    "style errors",
    "error-messages",
    "Error messages say what happened and what to do next",
    "support asked for it",
  ),
  fact("people oncall", "oncall-rota", "On call changes on Monday at 10:00; the rota is in PagerDuty"),
  fact("people review", "review-rules", "Two approvals for payments and login, one for the rest"),
  fact("people", "design-contact", "Questions about design go to Mara, about copy to Jonas"),
  // Look alike, and are about something else
  fact(
    "other",
    "coffee-machine",
    "The coffee machine in the office is descaled on the first login of the month",
  ),
  fact("other", "meeting-room", "The meeting room Index is booked by the page on the intranet"),
  fact("other", "company-search", "The search for a new office has ended: we stay where we are"),
  fact("other", "test-kitchen", "The test kitchen is on the second floor; bring your own mug"),
  fact("other", "running-group", "The running group meets at 18:00; the release of stress is guaranteed"),
  fact(
    "other",
    "parking",
    "Parking: the barrier opens with the app of the landlord, error 7 means it is full",
  ),
  fact("other", "book-club", "The book club reads Database Internals; the next page is 140"),
  fact("other", "summer-party", "The summer party is deployed on the roof, weather permitting"),
  fact("other", "postcards", "Postcards to customers are sent at Christmas, with stamps from stock"),
  fact("other", "plants", "The plants are watered by the app that beeps; push the red button"),
];

export interface LabelledObjective {
  readonly subjects: string;
  readonly text: string;
}

const about = (subjects: string, text: string): LabelledObjective => ({ subjects, text });

export const objectives: readonly LabelledObjective[] = [
  about(
    "session-cookie",
    "Users are logged out after a few minutes: find out why the session cookie is lost",
  ),
  about("oauth", "Add login with Google on staging, where the OAuth callback is wrong"),
  about("passwords", "Change how passwords are hashed"),
  about("lockout", "Unlock accounts that were locked after failed logins"),
  about("mfa", "Offer two-factor codes by SMS"),
  about("numbering", "Invoices of the new year have the wrong number"),
  about("vat", "Check the rounding of VAT in credit notes"),
  about("refunds", "Refund an order from five weeks ago"),
  about("webhooks", "Stripe sends webhooks that we handle twice"),
  about("dunning", "Try failed payments again on another schedule"),
  about("currencies", "Show prices and invoices in Swiss francs as a further currency"),
  about("migrations", "Write a migration that adds a column to the orders table without long locks"),
  about("backup", "Restore last night's database dump into staging"),
  about("replica", "Reports read stale data from the replica: measure its lag"),
  about("indexes", "Add an index for the slow customer lookup"),
  about("connections", "Too many connections to Postgres at peak: look at the pool"),
  about("rollback", "Roll back the last deployment, which broke the cart"),
  about("freeze", "Plan the deployments of December around the freeze"),
  about("kubernetes", "Scale the Kubernetes replicas in production for the sale"),
  about("secrets", "Rotate the secrets of the shop in Vault"),
  about("canary", "Let the canary take more traffic"),
  about("components", "Build a date picker from our component library"),
  about("bundle", "The first bundle grew by 30 kB: bring it under its budget"),
  about("dark-mode", "Charts cannot be read in dark mode"),
  about("i18n", "Complete the French translations"),
  about("accessibility", "Fix what axe complains about: accessibility of the cart"),
  about("flaky", "The checkout test is flaky, make it reliable"),
  about("ci", "Make CI faster: the browser tests take too long on the runners"),
  about("coverage", "Introduce a threshold for coverage"),
  about("synonyms reindex", "Add synonyms for sneakers to the product search and reindex"),
  about("ranking", "Products out of stock rank too high in search"),
  about("autocomplete", "Autocomplete feels slow: measure its latency"),
  about("templates", "The order confirmation mail looks broken in Outlook: fix its template"),
  about("bounces", "Addresses with bounces still get mail"),
  about("unsubscribe", "Add the unsubscribe header to the newsletter"),
  about("orders-endpoint", "GET /orders is slow: get rid of the N+1 queries"),
  about("cache", "Prices are stale for a minute: is it the Redis cache of the catalog?"),
  about("images cdn", "Serve smaller product images from the CDN"),
  about("memory-leak", "Find the memory leak in the worker"),
  about("deletion", "Handle a GDPR deletion request of a customer"),
  about("export", "Let customers export their data as CSV too"),
  about("retention", "Shorten the retention of access logs"),
  about("push", "Send push notifications when a parcel arrives"),
  about("crash mobile-versions", "The app crashes on Android 10 at start"),
  about("stock", "Stock in the shop differs from the warehouse: the sync seems late"),
  about("shipping returns", "Make return labels for parcels that DHL refuses"),
  about("oncall", "Change the on-call rota over Easter"),
  about("errors", "Write better error messages for the importer"),
  about("invoices", "Move everything about invoices into a service of its own"),
  about("login", "Review how people log in: login, lockout, passwords, two-factor, Google"),
  about("email", "Replace the provider of our mail, with templates and bounces"),
  about("search", "Move product search to another engine"),
  about("none", "Choose a vendor for the translation of contracts into Japanese sign language"),
  about("none", "Prepare the quarterly report for the board"),
  about("none", "Write a haiku generator"),
  about("none", "Upgrade the compiler to its next major version"),
];

/** Whether they share a subject. */
export function isRelevant({ subjects }: LabelledEntry, objective: LabelledObjective): boolean {
  const wanted = new Set(objective.subjects.split(" "));
  return subjects.split(" ").some((subject) => wanted.has(subject));
}

export interface Rated {
  /** Of what was carried, the share that is relevant. */
  readonly precision: number;
  /** Of what is relevant, the share that was carried. */
  readonly recall: number;
}

/** Over all objectives together. `carried` gives the keys that are carried for an objective. */
export function rate(carried: (objective: string) => readonly string[]): Rated {
  let [right, wrong, missed] = [0, 0, 0];
  for (const objective of objectives) {
    const keys = new Set(carried(objective.text));
    for (const entry of entries) {
      const [is, was] = [isRelevant(entry, objective), keys.has(entry.key)];
      if (is && was) right++;
      else if (was) wrong++;
      else if (is) missed++;
    }
  }
  return { precision: right / (right + wrong), recall: right / (right + missed) };
}
