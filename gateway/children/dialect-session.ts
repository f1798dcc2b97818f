/** Brings an engine session to the state that a request's query string requires, and a kept one back again. */
import type { EngineSession } from "./chdb-engine.js";
import { type DialectRequest, quoteName, quoteText, settingsStatement } from "./clickhouse-request.js";

/** Database, settings and parameters of the request. */
export async function enterSession(session: EngineSession, request: DialectRequest, readonly: boolean): Promise<void> {
  if (request.database !== "") await session.run(`USE ${quoteName(request.database)}`, "Null");
  const settings = settingsStatement(request, readonly);
  if (settings !== "") await session.run(settings, "Null");
}

/**
 * Returns the statements that bring a kept session back to its own database and settings. Parameters stay: they matter
 * only where they are named.
 */
export async function undoStatements(session: EngineSession, request: DialectRequest): Promise<string[]> {
  const names = [...request.settings.keys(), "readonly", "max_result_bytes", "result_overflow_mode"];
  const list = names.map(quoteText).join(", ");
  const { bytes } = await session.run(
    `SELECT name, value, changed, currentDatabase() AS database FROM system.settings WHERE name IN (${list})`,
    "JSONEachRow",
  );
  const undo: string[] = [];
  for (const line of Buffer.from(bytes).toString("utf8").split("\n")) {
    if (line === "") continue;
    const row = JSON.parse(line) as { name: string; value: string; changed: number; database: string };
    if (undo.length === 0) undo.push(`USE ${quoteName(row.database)}`);
    undo.push(`SET ${row.name} = ${row.changed === 1 ? quoteText(row.value) : "DEFAULT"}`);
  }
  return undo;
}
