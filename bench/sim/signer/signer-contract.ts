/**
 * The contract as this signer reads it: the OpenAPI document that it is given. What a client sends is held against it, and
 * so is what this signer answers where it is not told to lie.
 */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

type Json = Readonly<Record<string, unknown>>;
export interface ContractDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: Json;
}

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: object }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { schema: object }>> }>>;
}

export class SignerContract {
  readonly #document: ContractDocument;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  readonly #compiled = new Map<object, ValidateFunction>();

  constructor(document: ContractDocument) {
    this.#document = document;
    this.#ajv.addSchema(document, "contract");
  }

  /** What is wrong with a request; empty: nothing. `path`: as the document has it. */
  requestProblems(
    path: string,
    method: string,
    given: {
      readonly headers: Readonly<Record<string, string | undefined>>;
      readonly pathValue: string;
      readonly body: unknown;
    },
  ): string[] {
    const operation = this.#operation(path, method);
    if (operation === null) return [`no operation ${method} ${path}`];
    const problems: string[] = [];
    for (const { name, in: place, schema } of operation.parameters ?? []) {
      const value = place === "header" ? given.headers[name.toLowerCase()] : given.pathValue;
      problems.push(...this.#problems(schema, value, name));
    }
    const body = operation.requestBody?.content["application/json"];
    if (body !== undefined) {
      if (!(given.headers["content-type"] ?? "").startsWith("application/json")) problems.push("no JSON is announced");
      problems.push(...this.#problems(body.schema, given.body, "body"));
    } else if (given.body !== undefined) problems.push("a body where none belongs");
    return problems;
  }

  replyProblems(path: string, method: string, status: number, body: unknown): string[] {
    const response = this.#operation(path, method)?.responses[String(status)];
    if (response === undefined) return [`no status ${status} of ${method} ${path}`];
    const schema = response.content?.["application/json"]?.schema;
    return schema === undefined ? [] : this.#problems(schema, body, `reply ${status}`);
  }

  #operation(path: string, method: string): Operation | null {
    return (this.#document.paths[path]?.[method.toLowerCase()] as unknown as Operation | undefined) ?? null;
  }

  #problems(schema: object, value: unknown, what: string): string[] {
    let check = this.#compiled.get(schema);
    if (check === undefined) {
      const text = JSON.stringify(schema).replaceAll('"#/components/', '"contract#/components/');
      check = this.#ajv.compile(JSON.parse(text) as object);
      this.#compiled.set(schema, check);
    }
    if (check(value)) return [];
    return (check.errors ?? []).map(({ instancePath, message = "" }) => `${what}${instancePath} ${message}`);
  }
}
