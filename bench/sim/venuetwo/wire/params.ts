/** Request parameters as the venue reads them: query and form body, the query's value wins, names are exact. */
import type { SimHttpRequest } from "../../core/server/server-types.js";
import { refuseIllegal, refuseInvalid, refuseMandatory, VenuetwoRefusal } from "./errors.js";

export class Params {
  readonly #values: ReadonlyMap<string, string>;

  constructor(values: ReadonlyMap<string, string>) {
    this.#values = values;
  }

  static of(request: SimHttpRequest): Params {
    const values = new Map<string, string>();
    for (const part of [request.query, request.body.toString("utf8")]) {
      const seen = new Set<string>();
      for (const [name, value] of new URLSearchParams(part)) {
        if (seen.has(name)) throw new VenuetwoRefusal(-1101, `Duplicate values for a parameter detected.`);
        seen.add(name);
        if (!values.has(name)) values.set(name, value);
      }
    }
    return new Params(values);
  }

  /** Sent and not empty. */
  has(name: string): boolean {
    return (this.#values.get(name) ?? "") !== "";
  }

  text(name: string): string | null {
    const value = this.#values.get(name);
    return value === undefined || value === "" ? null : value;
  }

  required(name: string): string {
    const value = this.text(name);
    if (value === null) throw refuseMandatory(name);
    return value;
  }

  /** Whole number in the safe range, or null when not sent. */
  integer(name: string): number | null {
    const value = this.text(name);
    if (value === null) return null;
    if (!/^-?\d{1,16}$/.test(value) || !Number.isSafeInteger(Number(value))) throw refuseIllegal(name, "^[0-9]{1,20}$");
    return Number(value);
  }

  boolean(name: string): boolean | null {
    const value = this.text(name)?.toLowerCase();
    if (value === undefined) return null;
    if (value !== "true" && value !== "false") throw refuseInvalid(name);
    return value === "true";
  }

  /** Row count with the call's default and maximum; more than the maximum gives the maximum. */
  limit(defaultCount: number, maxCount: number): number {
    const value = this.integer("limit");
    if (value === null) return defaultCount;
    if (value < 1) throw refuseInvalid("limit");
    return Math.min(value, maxCount);
  }
}
