/** Peer: plain inserts of encoded rows by the official client, with as many in flight as the recorder has. */
import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { type ClickHouseClient, createClient } from "@clickhouse/client";
import { recordTable, writtenColumns } from "../../engine/storage/records/schema.js";

export interface RawBatch {
  readonly bytes: Buffer;
  readonly rowCount: number;
}

const TICK_COLUMNS = writtenColumns(recordTable("ticks"))
  .map(({ name }) => name)
  .join(", ");

const IN_FLIGHT = 2;

export class RawInserter {
  readonly #client: ClickHouseClient;

  constructor(
    endpoint: { readonly url: string; readonly username: string; readonly password: string },
    database: string,
  ) {
    this.#client = createClient({ ...endpoint, database, max_open_connections: IN_FLIGHT });
  }

  async insertAll(batches: readonly RawBatch[]): Promise<void> {
    let next = 0;
    const work = async () => {
      for (let batch = batches[next++]; batch !== undefined; batch = batches[next++]) await this.#insert(batch);
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, work));
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  async #insert({ bytes }: RawBatch): Promise<void> {
    const { stream } = await this.#client.exec({
      query: `INSERT INTO ticks (${TICK_COLUMNS}) FORMAT RowBinary`,
      values: Readable.from([bytes], { objectMode: false }),
      // A new token each time, so that the store accepts the same rows again.
      clickhouse_settings: { insert_deduplication_token: randomUUID() },
    });
    for await (const _chunk of stream) {
      // Reading the empty reply to its end frees the connection.
    }
  }
}
