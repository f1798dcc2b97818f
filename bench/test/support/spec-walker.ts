/**
 * Sends the rows of the spec walk and judges the replies: status, exact text, fields, and whether anything was sent.
 */
import { expect } from "vitest";
import type { Reply } from "../../../gateway/test/client.js";
import type { Json, SpecRow } from "./spec-rows.js";
import type { SpecSystem } from "./spec-system.js";

type Sendable = Pick<SpecRow, "method" | "path" | "headers" | "body">;

export class SpecWalker {
  readonly #system: () => SpecSystem;

  /** `system` has started by the time a row is sent. */
  constructor(system: () => SpecSystem) {
    this.#system = system;
  }

  /** `{alice}` is the wallet's address, `{key}` the venuethree query, `{three}` and `{venuefour}` credentials headers. */
  fill(text: string): string {
    const { alice, key, venuefourBlock } = this.#system();
    const { apiKeyPrivateKey, apiKeyIndex, accountIndex } = key;
    return text
      .replaceAll("{alice}", alice.venueone.address)
      .replaceAll(
        "{key}",
        `apiKeyPrivateKey=${apiKeyPrivateKey}&apiKeyIndex=${apiKeyIndex}&accountIndex=${accountIndex}`,
      )
      .replaceAll("{three}", Buffer.from(JSON.stringify({ venuethree: key })).toString("base64url"))
      .replaceAll("{venuefour}", Buffer.from(JSON.stringify({ venuefour: venuefourBlock })).toString("base64url"));
  }

  send({ method = "GET", path, headers = {}, body }: Sendable): Promise<Reply> {
    return this.#system().client.send(this.fill(path), {
      method,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, this.fill(value)])),
      },
      ...(body === undefined ? {} : { body: this.fill(JSON.stringify(body)) }),
    });
  }

  post(path: string, body: Json, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return this.send({ method: "POST", path, body, headers });
  }

  async walk(row: SpecRow): Promise<void> {
    const system = this.#system();
    await system.freshBooks();
    const before = system.sentCount();
    const reply = await this.send(row);
    const told = `${row.row}: ${reply.text.slice(0, 600)}`;
    expect(reply.status, told).toBe(row.status);
    expect(at(reply, "success"), told).toBe(row.status === 200);
    if (row.error !== undefined) expect(at(reply, "error"), told).toBe(row.error);
    if (row.code !== undefined) expect(at(reply, "code"), told).toBe(row.code);
    if (row.reply !== undefined)
      expect(reply.body, told).toMatchObject(JSON.parse(this.fill(JSON.stringify(row.reply))) as Json);
    if (row.status >= 400 && row.status < 500) {
      expect(at(reply, "timestamp")).toBeTypeOf("number");
      expect(system.sentCount(), `${row.row}: something was sent`).toBe(before);
    }
  }
}

/** Returns the value at a dotted path of the body. */
export function at(reply: Reply, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | null | undefined)?.[key], reply.body);
}
