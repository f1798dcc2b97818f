/**
 * GET /api/history/ticks, trades, candles, routing, fills and execution-quality: JSON pages, or exports as CSV and JSON
 * lines by the Accept header: of the whole range, or of a page where a limit is named.
 *
 * Invariants: an export is passed on from the store piece by piece, at the pace of its reader, and is not parsed here.
 * One that fails after its first piece is cut off, so that it never looks complete. A query ends when its caller leaves,
 * or its key is revoked.
 */
import type { HttpRequest } from "uWebSockets.js";
import type { TObject, TSchema } from "@sinclair/typebox";
import { LOCAL_OWNER, type Owners } from "../../../engine/domain/owner.js";
import { ServiceError } from "../../../engine/domain/errors.js";
import type { KeyedHash } from "../../../engine/storage/keyed-hash.js";
import type { RecordRow, RecordsStore } from "../../../engine/storage/records/records-store.js";
import {
  candlesQuerySchema,
  candlesReplySchema,
  executionQualityQuerySchema,
  type ExecutionQualityReply,
  executionQualityReplySchema,
  fillsQuerySchema,
  fillsReplySchema,
  routingHistoryQuerySchema,
  routingHistoryReplySchema,
  ticksQuerySchema,
  ticksReplySchema,
  tradesQuerySchema,
  tradesReplySchema,
} from "../../../schemas/history.js";
import type { Operation } from "../../../schemas/operation.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import { compileValidator } from "../../../schemas/validate.js";
import { negotiateForm, type ReplyForm } from "../../history/accept.js";
import { encodeCursor } from "../../history/cursor.js";
import { type ExportForm, type ExportParts, replyWithExport, replyWithExportHead } from "../../history/export-reply.js";
import {
  type HistoryRequest,
  readHistoryRequest,
  type RequestRules,
  rulesOf,
  type ShownRows,
} from "../../history/history-request.js";
import { CANDLES, TICKS, TRADES } from "../../history/market-kinds.js";
import type { Caller, Revocations } from "../../http/caller.js";
import { type OperatorAccess, requireOperator } from "../../http/operator-access.js";
import { FILLS, ROUTING } from "../../history/operator-kinds.js";
import { boundarySql, exportSql, keyColumn, pageSql, type SortKey, type Sql } from "../../history/query-builder.js";
import { MAX_QUALITY_ROWS, qualitySql } from "../../history/quality-sql.js";
import { ReadsOfKeys } from "../../history/reads-of-keys.js";
import type { RecordKind } from "../../history/record-kind.js";
import { DEFAULT_READ_LIMITS, type ReadLimits, RecordsReader } from "../../history/records-reader.js";
import { asServiceError } from "../../http/error-reply.js";
import type { PendingReply } from "../../http/pending-reply.js";
import type { RouteContext } from "./context.js";
import type { Route } from "../../http/route.js";

export interface HistoryOptions extends OperatorAccess {
  /** Who reaches whose rows. */
  readonly owners: Owners;
  /** The server's key: signs cursors. */
  readonly hash: KeyedHash;
  readonly limits?: ReadLimits;
  /** Null: there are no keys. */
  readonly revocations: Revocations | null;
}

const VARY = "\r\nVary: Accept";
/** Rows of a page that may come beyond its limit: equal in everything to its last. */
const TIED_ROWS_MAX = 10_000;
/** Rows that may have been inserted into an export's range between finding its end and reading it. */
const LATE_ROWS_FACTOR = 2;

/** The part of the context that these routes use. */
export type HistoryContext = Pick<RouteContext, "edge" | "clock" | "view">;

export function historyRoutes(context: HistoryContext, store: RecordsStore, options: HistoryOptions): Route[] {
  const reader = new RecordsReader(store, options.limits ?? DEFAULT_READ_LIMITS, context.edge.logger);
  const pages: readonly PageRoute[] = [
    {
      operation: OPERATIONS.historyTicks,
      kind: TICKS,
      query: ticksQuerySchema,
      name: "ticks",
      reply: ticksReplySchema,
      operator: false,
    },
    {
      operation: OPERATIONS.historyTrades,
      kind: TRADES,
      query: tradesQuerySchema,
      name: "trades",
      reply: tradesReplySchema,
      operator: false,
    },
    {
      operation: OPERATIONS.historyCandles,
      kind: CANDLES,
      query: candlesQuerySchema,
      name: "candles",
      reply: candlesReplySchema,
      operator: false,
    },
    {
      operation: OPERATIONS.historyRouting,
      kind: ROUTING,
      query: routingHistoryQuerySchema,
      name: "decisions",
      reply: routingHistoryReplySchema,
      operator: true,
    },
    {
      operation: OPERATIONS.historyFills,
      kind: FILLS,
      query: fillsQuerySchema,
      name: "fills",
      reply: fillsReplySchema,
      operator: true,
    },
  ];
  const running = new ReadsOfKeys(options.revocations);
  const shell: Shell = { context, reader, options, running };
  return [...pages.map((page) => pageRoute(shell, page)), qualityRoute(shell)];
}

interface Shell {
  readonly context: HistoryContext;
  readonly reader: RecordsReader;
  readonly options: HistoryOptions;
  readonly running: ReadsOfKeys;
}

interface PageRoute {
  readonly operation: Operation;
  readonly kind: RecordKind;
  readonly query: TObject;
  /** Name of the rows in the reply. */
  readonly name: string;
  readonly reply: TSchema;
  readonly operator: boolean;
}

function pageRoute(shell: Shell, { operation, kind, query, name, reply: replySchema, operator }: PageRoute): Route {
  const { clock } = shell.context;
  const rules = requestRules(shell, kind.kind, query);
  const serialise = compileSerialiser(replySchema, ["data"]);
  const exporter = new PageExport(shell, kind);

  async function page(asked: HistoryRequest, shown: ShownRows, signal: AbortSignal): Promise<string> {
    const sql = pageSql(kind, asked.range, asked.after, asked.limit + 1, clock.wallMs());
    const found = await shell.reader.rows(sql, asked.limit + 1 + TIED_ROWS_MAX, signal);
    const { count, last } = pageEnd(kind, found, asked.limit);
    const nextCursor = last === null ? null : cursorOf(shell, kind, asked, shown, last);
    const { fromMs: from, toMs: to } = asked.range;
    const data = { [name]: found.slice(0, count), from, to, nextCursor };
    return serialise({ success: true, data, timestamp: clock.wallMs() });
  }

  return {
    operation,
    handle(response, request) {
      const { caller } = shell.context.edge;
      const form = admitted(shell, request, operator, caller);
      const shown = operator ? shownTo(shell, caller) : EVERYBODYS;
      const asked = readHistoryRequest(rules, request.getQuery(), form, clock.wallMs(), shown);
      answer(shell, shell.context.edge.detach(response), request.getMethod() === "head", async (call) => {
        if (form === "json") call.reply.json(await page(asked, shown, call.abort.signal), VARY);
        else await exporter.reply(asked, shown, form, call);
      });
    },
  };
}

/** Replies with the rows of one kind as CSV or JSON lines. */
class PageExport {
  readonly #shell: Shell;
  readonly #kind: RecordKind;

  constructor(shell: Shell, kind: RecordKind) {
    this.#shell = shell;
    this.#kind = kind;
  }

  async reply(
    asked: HistoryRequest,
    shown: ShownRows,
    form: ExportForm,
    { abort, headOnly, reply }: Call,
  ): Promise<void> {
    const parts = exportParts(this.#shell);
    if (asked.isWhole) {
      if (headOnly) return replyWithExportHead(parts, reply, form, VARY);
      return replyWithExport(parts, reply, form, VARY, this.#wholeRange(asked, form, abort.signal), abort);
    }
    const { last, goesOn } = await this.#endOf(asked, asked.after, abort.signal);
    const cursor = last === null || !goesOn ? null : cursorOf(this.#shell, this.#kind, asked, shown, last);
    const headers = cursor === null ? VARY : `${VARY}\r\nX-Next-Cursor: ${cursor}`;
    if (headOnly) return replyWithExportHead(parts, reply, form, headers);
    return replyWithExport(parts, reply, form, headers, [this.#partSql(asked, asked.after, last, form)], abort);
  }

  /** All of the range, a part at a time, so that no query sorts and holds more than a page. */
  async *#wholeRange(asked: HistoryRequest, form: ExportForm, signal: AbortSignal): AsyncGenerator<Sql> {
    let { after } = asked;
    for (;;) {
      const { last, goesOn } = await this.#endOf(asked, after, signal);
      yield this.#partSql(asked, after, last, form);
      if (last === null || !goesOn || signal.aborted) return;
      after = last;
    }
  }

  /** Returns the last key of the rows after `after` that one query reads; null means the end of the range. */
  async #endOf(asked: HistoryRequest, after: SortKey | null, signal: AbortSignal): Promise<PartEnd> {
    const sql = boundarySql(this.#kind, asked.range, after, asked.limit);
    const [end, beyond] = await this.#shell.reader.rows(sql, 2, signal);
    return { last: end === undefined ? null : keyOf(this.#kind, end), goesOn: beyond !== undefined };
  }

  #partSql(asked: HistoryRequest, after: SortKey | null, last: SortKey | null, form: ExportForm): Sql {
    const rowsMax = asked.limit * LATE_ROWS_FACTOR;
    return exportSql(this.#kind, asked.range, after, last, rowsMax, form, this.#shell.context.clock.wallMs());
  }
}

function qualityRoute(shell: Shell): Route {
  const { clock } = shell.context;
  const rules = requestRules(shell, "executionQuality", executionQualityQuerySchema);
  const serialise = compileSerialiser(executionQualityReplySchema, ["data"]);

  function report(asked: HistoryRequest, rows: readonly RecordRow[]): string {
    const { fromMs: from, toMs: to } = asked.range;
    const of = (scope: string) => rows.filter((row) => row.scope === scope);
    const data = { from, to, total: of("total")[0], byExchange: of("exchange"), bySymbol: of("symbol") };
    // The rows have the fields of the schema by the SQL that made them; the serialiser lets nothing else through.
    return serialise({
      success: true,
      data: data as unknown as ExecutionQualityReply["data"],
      timestamp: clock.wallMs(),
    });
  }

  return {
    operation: OPERATIONS.historyExecutionQuality,
    handle(response, request) {
      const { caller } = shell.context.edge;
      const form = admitted(shell, request, true, caller);
      const shown = shownTo(shell, caller);
      const asked = readHistoryRequest(rules, request.getQuery(), form, clock.wallMs(), shown);
      const { fromMs, toMs, exchanges, filters, owners } = asked.range;
      const sql = qualitySql(
        { fromMs, toMs, exchanges, symbol: filters.symbol ?? null, direction: filters.direction ?? null, owners },
        form,
      );
      answer(shell, shell.context.edge.detach(response), request.getMethod() === "head", async (call) => {
        if (form === "json") {
          const rows = await shell.reader.rows(sql, MAX_QUALITY_ROWS, call.abort.signal);
          call.reply.json(report(asked, rows), VARY);
        } else if (call.headOnly) replyWithExportHead(exportParts(shell), call.reply, form, VARY);
        else await replyWithExport(exportParts(shell), call.reply, form, VARY, [sql], call.abort);
      });
    },
  };
}

function requestRules({ context, options }: Shell, kind: RequestRules["kind"], schema: TObject): RequestRules {
  const validate = compileValidator(schema) as RequestRules["validate"];
  return rulesOf(kind, schema, validate, options.hash, (text) => context.view.resolve(text));
}

function exportParts({ context, reader }: Shell): ExportParts {
  return { reader, clock: context.clock, logger: context.edge.logger };
}

/** Checks what comes before the parameters: the caller's access, the form of the reply, and that the record is on. */
function admitted(
  { context, reader, options }: Shell,
  request: HttpRequest,
  operator: boolean,
  caller: Caller,
): ReplyForm {
  context.edge.checkTarget(request);
  // A caller with a key sees its own rows, wherever it is.
  if (operator && caller.ownerId === null) {
    const origin = {
      host: request.getHeader("host"),
      origin: request.getHeader("origin"),
      fetchSite: request.getHeader("sec-fetch-site"),
    };
    requireOperator(options, origin, caller);
  }
  const form = negotiateForm(request.getHeader("accept"));
  reader.requireOn();
  return form;
}

/** Of kinds that have no owners. */
const EVERYBODYS: ShownRows = { ownerId: null, owners: null };

/** An administrator sees the rows of all; a caller without a key is the owner `local`, on every address. */
function shownTo({ options }: Shell, { ownerId, scopes }: Caller): ShownRows {
  if (scopes.has("admin")) return { ownerId, owners: null };
  return { ownerId, owners: options.owners.reachedBy(ownerId).map((owner) => owner ?? LOCAL_OWNER) };
}

interface PartEnd {
  readonly last: SortKey | null;
  /** Whether rows follow it. */
  readonly goesOn: boolean;
}

interface Call {
  readonly reply: PendingReply;
  readonly headOnly: boolean;
  /** Aborted when the caller leaves. */
  readonly abort: AbortController;
}

function answer(
  { reader, running }: Shell,
  reply: PendingReply,
  headOnly: boolean,
  read: (call: Call) => Promise<void>,
): void {
  const abort = new AbortController();
  reply.whenAborted(() => abort.abort());
  const { keyId } = reply.caller;
  const leave = running.add(keyId, () => {
    abort.abort();
    reply.fail(new ServiceError("KEY_REVOKED"), VARY);
    reply.cut();
  });
  reader
    .admit(keyId, () => read({ reply, headOnly, abort }))
    .catch((error: unknown) => reply.fail(asServiceError(error), VARY))
    .finally(leave);
}

function keyOf(kind: RecordKind, row: RecordRow): SortKey {
  return kind.sort.map((_, index) => String(row[keyColumn(index)]));
}

/**
 * Returns how many of the rows found are the page, and the key after which the next page begins; null without one. Rows
 * with equal keys are never split between pages: the page then holds all of them.
 */
function pageEnd(
  kind: RecordKind,
  found: readonly RecordRow[],
  limit: number,
): { readonly count: number; readonly last: SortKey | null } {
  const lastOfPage = found[limit - 1];
  const beyond = found[limit];
  if (lastOfPage === undefined || beyond === undefined) return { count: found.length, last: null };
  const last = keyOf(kind, lastOfPage);
  const isTied = keyOf(kind, beyond).every((value, index) => value === last[index]);
  return { count: isTied ? found.length : limit, last };
}

function cursorOf(
  { options }: Shell,
  kind: RecordKind,
  asked: HistoryRequest,
  { ownerId }: ShownRows,
  key: SortKey,
): string {
  return encodeCursor(options.hash, kind.kind, ownerId, { query: asked.cursorQuery, key });
}
