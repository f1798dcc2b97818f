/** Query and form fields, each refused by name when it is not what it should be. */
import { refuseParameter } from "./errors.js";

export function integer(params: URLSearchParams, name: string): number | null {
  const text = params.get(name);
  if (text === null || text === "") return null;
  if (!/^-?\d{1,15}$/.test(text)) throw refuseParameter(`${name} must be an integer`);
  return Number(text);
}

export function required(params: URLSearchParams, name: string): number {
  const value = integer(params, name);
  if (value === null) throw refuseParameter(`${name} is required`);
  return value;
}

export function limitOf(params: URLSearchParams, max: number): number {
  const limit = required(params, "limit");
  if (limit < 1 || limit > max) throw refuseParameter(`limit must be between 1 and ${max}`);
  return limit;
}
