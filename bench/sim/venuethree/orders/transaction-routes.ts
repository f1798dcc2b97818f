/** `sendTx` and `sendTxBatch` as forms, and the same two over the socket (fact sheet 3.1, 9.1, 9.2). */
import type { VenuethreeContext } from "./context.js";
import { refuseParameter, refuseTransaction } from "../wire/errors.js";
import { printJson, readJson, type Row } from "../wire/json.js";
import type { RawTransaction, Submission } from "./transaction-desk.js";

const OK = 200;
/** The socket takes fewer than REST in the current documentation. */
const SOCKET_BATCH_MAX = 15;
const TYPE_TEXT = /^\d{1,3}$/;
/** Itself JSON text, as recorded. */
const MESSAGE = '{"ratelimit": "didn\'t use volume quota"}';

export function sendTx(context: VenuethreeContext, params: URLSearchParams, nowMs: number): Row {
  const type = params.get("tx_type");
  const text = params.get("tx_info");
  if (type === null || !TYPE_TEXT.test(type)) throw refuseParameter("tx_type is required");
  if (text === null || text === "") throw refuseParameter("tx_info is required");
  const submission = context.desk.submit([{ type: Number(type), text }], protection(params), nowMs);
  return restAnswer(submission, submission.hashes[0]);
}

export function sendTxBatch(context: VenuethreeContext, params: URLSearchParams, nowMs: number): Row {
  const types = params.get("tx_types");
  const infos = params.get("tx_infos");
  if (types === null || types === "") throw refuseParameter("tx_types is required");
  if (infos === null || infos === "") throw refuseParameter("tx_infos is required");
  const submission = context.desk.submit(readBatch(types, infos), protection(params), nowMs);
  return restAnswer(submission, submission.hashes);
}

function protection(params: URLSearchParams): boolean {
  const text = params.get("price_protection") ?? "true";
  if (text !== "true" && text !== "false") throw refuseParameter("price_protection");
  return text === "true";
}

function restAnswer({ predictedMs }: Submission, txHash: unknown): Row {
  return { code: OK, message: MESSAGE, tx_hash: txHash, predicted_execution_time_ms: Math.round(predictedMs) };
}

/** `data` of a message; throws the venue's refusal. `isBatch`: both lists are JSON texts. */
export function sendOverSocket(context: VenuethreeContext, data: Row, isBatch: boolean, nowMs: number): Row {
  if (!isBatch) {
    const { tx_type: type, tx_info: info } = data;
    if (typeof type !== "number" || !TYPE_TEXT.test(String(type))) throw refuseTransaction(21505);
    // An object by the documentation; its text is accepted too.
    const text = typeof info === "string" ? info : printJson(info);
    const submission = context.desk.submit([{ type, text }], true, nowMs);
    return socketAnswer(submission, submission.hashes[0]);
  }
  const { tx_types: types, tx_infos: infos } = data;
  if (typeof types !== "string" || typeof infos !== "string") throw refuseTransaction(21501);
  const raws = readBatch(types, infos);
  if (raws.length > SOCKET_BATCH_MAX) throw refuseTransaction(21514);
  const submission = context.desk.submit(raws, true, nowMs);
  return socketAnswer(submission, submission.hashes);
}

function socketAnswer({ predictedMs }: Submission, txHash: unknown): Row {
  return { code: OK, predicted_execution_time_ms: Math.round(predictedMs), tx_hash: txHash };
}

/** A list of numbers and a list of texts, each in a JSON text; bare objects are taken as well (fact sheet 9.1). */
function readBatch(typesText: string, infosText: string): RawTransaction[] {
  const types = readList(typesText);
  const infos = readList(infosText);
  if (types.length !== infos.length) throw refuseTransaction(21513);
  return types.map((type, index) => {
    if (typeof type !== "number" || !TYPE_TEXT.test(String(type))) throw refuseTransaction(21505);
    const info = infos[index];
    if (typeof info === "string") return { type, text: info };
    if (typeof info !== "object" || info === null) throw refuseTransaction(21501);
    return { type, text: printJson(info) };
  });
}

function readList(text: string): readonly unknown[] {
  let value: unknown;
  try {
    value = readJson(text);
  } catch {
    throw refuseTransaction(21501);
  }
  if (!Array.isArray(value)) throw refuseTransaction(21501);
  return value as readonly unknown[];
}
