/**
 * `unwind reconcile`: what the ledger, the chains, the venues and the signing parties hold, and what is missing where;
 * `--release` opens a restored store. The service compares; this waits for it and prints.
 */
import type { Command } from "commander";
import type {
  Difference,
  ReconcileReport,
  UncomparedPart,
  UnreadPart,
} from "../../engine/transfers/reconcile/report.js";
import type { ReconcileState } from "../admin/reconcile-port.js";
import { addToList } from "./arguments.js";
import { ask } from "./ask.js";
import { type CliTools, defined, JSON_FLAG, JSON_TEXT, type Options, type ProgramParts } from "./cli-call.js";
import { CliFailure, EXIT_DIFFERS, EXIT_FAULT, EXIT_UNREAD } from "./exit-codes.js";
import { differencesText, fieldsText, uncomparedText, unreadText } from "./output.js";

const LOOK_MS = 250;
const PLACE = { creates: false, cosigner: null };

export function addReconcile(command: Command, parts: ProgramParts): void {
  command
    .option("--release", "open a restored store, after a comparison that could read everything")
    .option(
      "--force <part>",
      "with --release: a part that could not be read, such as `chain 56`; repeatable",
      addToList,
    )
    .option(JSON_FLAG, JSON_TEXT)
    .action((options: Options) => {
      const json = options["json"] === true;
      const force = options["force"];
      if (options["release"] === true)
        return parts.act({ json, run: (tools) => released(tools, defined({ force })), textOf: releasedText });
      return compared(parts, json);
    });
}

async function compared(parts: ProgramParts, json: boolean): Promise<void> {
  let report: ReconcileReport | null = null;
  await parts.act({
    json,
    run: async (tools) => {
      const state = await ended(tools);
      report = state.last;
      return state;
    },
    textOf: (state) => reportText(state as ReconcileState),
  });
  const outcome = exitOf(report);
  if (outcome !== null) throw outcome;
}

/** Waits for one that begins now; one that ran already says nothing of now. */
async function ended(tools: CliTools): Promise<ReconcileState> {
  const admin = await tools.reach(PLACE);
  try {
    let state = (await ask(admin, "reconcile.view", {})) as ReconcileState;
    while (state.isRunning) state = await looked();
    state = (await ask(admin, "reconcile.begin", {})) as ReconcileState;
    while (state.isRunning) state = await looked();
    if (state.problem !== null || state.last === null)
      throw new CliFailure(EXIT_FAULT, state.problem ?? "INTERNAL", "the ledger could not be read: the log says why");
    return state;
  } finally {
    await admin.close();
  }

  async function looked(): Promise<ReconcileState> {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    return (await ask(admin, "reconcile.view", {})) as ReconcileState;
  }
}

/** What could not be read comes first: without it nothing is known to be the same. */
function exitOf(report: ReconcileReport | null): CliFailure | null {
  if (report === null) return null;
  const { differences, unreadCount, unreadParts } = report;
  if (unreadCount > 0) {
    const parts = unreadParts.join(", ");
    return new CliFailure(EXIT_UNREAD, "PARTS_UNREAD", `not everything could be compared: ${parts}`, {
      parts: unreadParts,
    });
  }
  if (differences.length === 0) return null;
  return new CliFailure(EXIT_DIFFERS, "DIFFERENCES", "what is compared differs", { count: differences.length });
}

async function released(tools: CliTools, params: Options): Promise<unknown> {
  const admin = await tools.reach(PLACE);
  try {
    return await ask(admin, "reconcile.release", params);
  } finally {
    await admin.close();
  }
}

function releasedText(result: unknown): string {
  const { blocks, rows } = result as { readonly blocks: number; readonly rows: number };
  return `${fieldsText({ blocks, rows })}\nThe store is open again. For a day nothing moves that is like what was found.\n`;
}

function reportText({ last, restored }: ReconcileState): string {
  if (last === null) return "";
  const { startedAtMs, endedAtMs, sinceMs, wallets, compared, differences, unread, uncompared } = last;
  const head = fieldsText({
    ...{ startedAtMs, endedAtMs, sinceMs, wallets, compared },
    ...{ differences: last.differences.length, unread: last.unreadCount },
    ...(last.uncomparedCount === 0 ? {} : { "not compared": last.uncomparedCount }),
    ...(restored === null ? {} : { restored: `${restored.reason}; --release opens the store` }),
  });
  const lists: string[] = [];
  if (differences.length > 0) lists.push(differencesText(differences as readonly Difference[]));
  if (unread.length > 0) lists.push(unreadText(unread as readonly UnreadPart[]));
  if (uncompared.length > 0) lists.push(uncomparedText(uncompared as readonly UncomparedPart[]));
  return [head, ...lists].join("\n");
}
