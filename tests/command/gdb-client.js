// SPDX-License-Identifier: GPL-2.0-only
// Let the client library with which VS Code tests debug adapters step forwards and backwards: gdb-client.js TARGET GDB
// ARGUMENTS... The test gdb-adapter.py has its own client, so this program shows that another client understands gdb.
const { DebugClient } = require('@vscode/debugadapter-testsupport');
const { spawn } = require('child_process');
const [target, gdb, ...args] = process.argv.slice(2);

async function run() {
	const child = spawn(gdb, args, { stdio: ['pipe', 'pipe', 'ignore'] });
	const client = new DebugClient(gdb, '', 'gdb');
	let threadId;
	const go = async (request) => {
		const [, event] = await Promise.all([client[request]({ threadId }), client.waitForEvent('stopped', 60000)]);
		threadId = event.body.threadId;
		const stack = await client.stackTraceRequest({ threadId });
		return stack.body.stackFrames.map((frame) => frame.name + ':' + frame.line).join(' ');
	};

	client.connect(child.stdout, child.stdin);
	await client.initializeRequest();
	const attached = client.attachRequest({ target });
	await client.setFunctionBreakpointsRequest({ breakpoints: [{ name: 'request' }] });
	await client.configurationDoneRequest();
	await attached;
	threadId = (await client.threadsRequest()).body.threads[0].id;
	const there = [await go('continueRequest')], back = [];
	await client.setFunctionBreakpointsRequest({ breakpoints: [] });
	for (let i = 0; i < 4; i++)
		there.push(await go('nextRequest'));
	for (let i = 0; i < 3; i++)
		back.push(await go('stepBackRequest'));
	const good = there.every((stack) => /^request:\d+ main:\d+$/.test(stack)) && back.join() === there.slice(1, 4).reverse().join();
	console.log((good ? 'ok' : 'not ok') + ' - the client of VS Code steps back' + (good ? '' : ' ' + JSON.stringify([there, back])));
	child.kill();
}

run().catch((error) => console.log('not ok - the client of VS Code: ' + error)).then(() => process.exit(0));
