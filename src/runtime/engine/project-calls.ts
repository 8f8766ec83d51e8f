/** The engine's calls on projects. */
import type { ItemKind } from "../../core/item/kind.ts";
import type { ProjectOutcome, ProjectStatus } from "../../core/project/project.ts";
import type { Deps } from "../deps.ts";
import type { ProjectBudgetResult, ProjectBudgetView, ProjectLimits } from "../project/budget.ts";
import type { ExportProjectOptions } from "../transfer/bundle.ts";
import type {
  EraseProjectOptions,
  EraseProjectReport,
  VerifyProjectReport,
} from "../govern/project-govern.ts";
import type { ProjectLineage } from "../project/project-lineage.ts";
import type {
  ConfigureProjectOptions,
  MarkTicketOptions,
  PlanTicketsOptions,
  ProjectPlan,
} from "../project/plan.ts";
import type {
  OpenProjectOptions,
  ProjectRecordOptions,
  ProjectRow,
  ProjectSummary,
  ProjectView,
} from "../project/projects.ts";

/** The part of an engine that opens, reads and changes projects. */
export class ProjectCalls {
  readonly #deps: Deps;

  /** @internal */
  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * Opens a project: an objective that several sessions share. `engine.open({ project })` opens a session in
   * it.
   */
  async openProject(options: OpenProjectOptions): Promise<ProjectSummary> {
    return (await import("../project/projects.ts")).openProject(this.#deps, options);
  }

  /** The projects of the workspace, the most recently active first. */
  async projects(options: { readonly status?: ProjectStatus } = {}): Promise<ProjectRow[]> {
    return (await import("../project/projects.ts")).listProjects(this.#deps, options);
  }

  /** A project with its items, the end of its journal, and its sessions. */
  async project(idOrEnding: string): Promise<ProjectView> {
    return (await import("../project/projects.ts")).showProject(this.#deps, idOrEnding);
  }

  /** Sets an item of the project: its open sessions get it at their next turn, later ones start with it. */
  async recordInProject(project: string, options: ProjectRecordOptions): Promise<ProjectSummary> {
    return (await import("../project/projects.ts")).recordInProject(this.#deps, project, options);
  }

  /** Retracts an item of the project. */
  async retractInProject(
    project: string,
    options: { readonly kind: ItemKind; readonly key: string; readonly because?: string },
  ): Promise<ProjectSummary> {
    return (await import("../project/projects.ts")).retractInProject(this.#deps, project, options);
  }

  /** Adds an entry to the project's journal: what was done, what comes next. */
  async noteInProject(
    project: string,
    options: { readonly text: string; readonly session?: string },
  ): Promise<ProjectSummary> {
    return (await import("../project/projects.ts")).noteInProject(this.#deps, project, options);
  }

  /** Closes the project. Its sessions go on; no other may join. */
  async closeProject(
    project: string,
    options: { readonly outcome?: ProjectOutcome; readonly reason?: string } = {},
  ): Promise<ProjectSummary> {
    return (await import("../project/projects.ts")).closeProject(this.#deps, project, options);
  }

  /** Opens a closed or archived project again. */
  async reopenProject(project: string, options: { readonly reason?: string } = {}): Promise<ProjectSummary> {
    return (await import("../project/projects.ts")).reopenProject(this.#deps, project, options);
  }

  /**
   * Protects the project and all its sessions, also those that join later, from erasure and deletion, until
   * the hold of this name is lifted.
   */
  async holdProject(
    project: string,
    name: string,
    options: { readonly reason?: string } = {},
  ): Promise<ProjectSummary> {
    return (await import("../project/projects.ts")).holdProject(this.#deps, project, name, options);
  }

  /** Lifts a hold of the project. Holds of its sessions stay. */
  async liftProject(
    project: string,
    name: string,
    options: { readonly reason?: string } = {},
  ): Promise<ProjectSummary> {
    return (await import("../project/projects.ts")).liftProject(this.#deps, project, name, options);
  }

  /** The families of its sessions: forks, children and successors, each before its descendants. */
  async projectLineage(project: string): Promise<ProjectLineage> {
    return (await import("../project/project-lineage.ts")).readProjectLineage(this.#deps, project);
  }

  /** Verifies the project's log and the logs of all its sessions. */
  async verifyProject(project: string): Promise<VerifyProjectReport> {
    return (await import("../govern/project-govern.ts")).verifyProject(this.#deps, project);
  }

  /** Erases contents of the project's log for good; with `sessions`, of its sessions too. */
  async eraseProject(project: string, options: EraseProjectOptions = {}): Promise<EraseProjectReport> {
    return (await import("../govern/project-govern.ts")).eraseProject(this.#deps, project, options);
  }

  /** The project as a bundle: its log, and all its sessions that are here, as copies. */
  async *exportProject(project: string, options: ExportProjectOptions = {}): AsyncGenerator<Uint8Array> {
    yield* (await import("../transfer/bundle.ts")).exportProject(this.#deps, project, options);
  }

  /** Makes a closed project read-only. */
  async archiveProject(project: string, options: { readonly reason?: string } = {}): Promise<ProjectSummary> {
    return (await import("../project/projects.ts")).archiveProject(this.#deps, project, options);
  }

  /** The plan of a project: its tickets and how far they are, and what sessions propose for it. */
  async plan(project: string): Promise<ProjectPlan> {
    return (await import("../project/plan.ts")).showPlan(this.#deps, project);
  }

  /** Adds tickets to the plan, changes those of the same id, and removes others. */
  async planTickets(project: string, options: PlanTicketsOptions): Promise<ProjectPlan> {
    return (await import("../project/plan.ts")).planTickets(this.#deps, project, options);
  }

  /** Accepts what sessions propose: the tickets are in the plan, with the checks that were proposed. */
  async acceptTickets(project: string, tickets: readonly string[]): Promise<ProjectPlan> {
    return (await import("../project/plan.ts")).acceptTickets(this.#deps, project, tickets);
  }

  /** Rejects proposed tickets, or proposed changes of tickets. */
  async rejectTickets(
    project: string,
    tickets: readonly string[],
    options: { readonly reason?: string } = {},
  ): Promise<ProjectPlan> {
    return (await import("../project/plan.ts")).rejectTickets(this.#deps, project, tickets, options);
  }

  /** Records that a session works on a ticket, or how it ended. `runPlan` from `skein/tickets` does it. */
  async markTicket(project: string, options: MarkTicketOptions): Promise<ProjectPlan> {
    return (await import("../project/plan.ts")).markTicket(this.#deps, project, options);
  }

  /** Sets the rule for proposed tickets, the default agent, and the agents that may work on the project. */
  async configureProject(project: string, options: ConfigureProjectOptions): Promise<ProjectPlan> {
    return (await import("../project/plan.ts")).configureProject(this.#deps, project, options);
  }

  /** The budget of a project, and what its sessions have used or set aside of it. */
  async projectBudget(project: string): Promise<ProjectBudgetView> {
    return (await import("../project/budget.ts")).showProjectBudget(this.#deps, project);
  }

  /** Bounds what the sessions of a project may use together. Sessions that it had stopped continue. */
  async setProjectBudget(
    project: string,
    options: ProjectLimits & { readonly reason?: string },
  ): Promise<ProjectBudgetResult> {
    return (await import("../project/budget.ts")).setProjectBudget(this.#deps, project, options);
  }
}
