// SPDX-License-Identifier: GPL-2.0-only
// Read Parquet files with independent readers. PACKAGES is the folder of these readers.
//	readers.mjs PACKAGES rows duckdb|hyparquet FILE		print each row as a JSON array
//	readers.mjs PACKAGES query SQL...			print the rows of each query, with | between values
//	readers.mjs PACKAGES damage FILE N			read N shortened and N changed copies of the file
import { readFileSync, writeFileSync, unlinkSync } from 'node:fs';
import { createRequire } from 'node:module';

const [packages, what, ...args] = process.argv.slice(2);
const require = createRequire(`${packages}/package.json`);
const { DuckDBInstance } = require('@duckdb/node-api');
const load = async name => import(require.resolve(name));
const { parquetReadObjects, parquetMetadata } = await load('hyparquet');
const { compressors } = await load('hyparquet-compressors');

const db = await (await DuckDBInstance.create(':memory:')).connect();

async function query(sql) {
	return (await db.runAndReadAll(sql)).getRows();
}

async function rows(reader, path) {
	if (reader === 'duckdb')
		return query(`SELECT * FROM read_parquet('${path}')`);
	const bytes = readFileSync(path);
	const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
	const names = parquetMetadata(file).schema.slice(1).map(c => c.name);
	return (await parquetReadObjects({ file, compressors })).map(row => names.map(n => row[n]));
}

// undefined is not null, because a reader that returns undefined has omitted a value
const text = all => all.map(row => JSON.stringify(row.map(v => v === undefined ? 'undefined' : typeof v === 'bigint' ? Number(v) : v)));

// Return how many of the damaged copies each reader refused, read correctly, or read with other rows
async function read_damaged(path, n) {
	const good = readFileSync(path), results = {};
	let seed = 1;
	const random = below => (seed = (seed * 1103515245 + 12345) % 2147483648) % below;
	for (const reader of ['duckdb', 'hyparquet']) {
		const wanted = text(await rows(reader, path)).join();
		for (const how of ['cut', 'changed']) {
			const result = results[`${reader} ${how}`] = { refused: 0, same: 0, other: 0 };
			for (let i = 0; i < n; i++) {
				const at = random(good.length);
				let bad = good.subarray(0, at);
				if (how === 'changed') {
					bad = Buffer.from(good);
					bad[at] ^= 1 << random(8);
				}
				writeFileSync(`${path}.damaged-${i}`, bad);
				try {
					const got = text(await rows(reader, `${path}.damaged-${i}`)).join();
					result[got === wanted ? 'same' : 'other']++;
					if (got !== wanted)
						console.log(`${reader}: other rows after a change of byte ${at} of ${good.length}`);
				} catch {
					result.refused++;
				}
				unlinkSync(`${path}.damaged-${i}`);
			}
		}
	}
	return results;
}

if (what === 'rows')
	console.log(text(await rows(...args)).join('\n'));
else if (what === 'query')
	for (const sql of args)
		for (const row of await query(sql))
			console.log(row.join('|'));
else
	console.log(JSON.stringify(await read_damaged(args[0], Number(args[1])), null, 1));
