// Calls as HTTP requests, and streams as events: no elements here.

const at = (root, pointer) => pointer.split("/").slice(1).reduce(
	(found, key) => found?.[decodeURIComponent(key).replace(/~1/g, "/").replace(/~0/g, "~")], root);

// The operations of an OpenAPI document, by name.
export function operations(doc, base) {
	const server = new URL(doc.servers?.[0]?.url || ".", base).href.replace(/\/$/, ""), all = [];
	const real = (one) => (one?.$ref ? at(doc, one.$ref) : one);
	const read = (raw, method, path, parameters) => {
		const x = raw["x-operation"] || {}, [media, { schema = {} } = {}] = Object.entries(real(raw.requestBody)?.content || {})[0] || [];
		const streams = x.type ? x.type === "subscription"
			: Object.values(raw.responses || {}).some((answer) => real(answer)?.content?.["text/event-stream"]);
		const id = x.id || raw.operationId || method + " " + path, body = media && real(schema);
		// A schema may refer to parts of itself.
		return { id, method, path, url: server + path, raw, x, parameters, media, streams, find: (ref) => at(doc, ref) ?? at(body, ref),
			title: raw.summary, description: raw.description, tags: raw.tags?.length ? raw.tags : ["other"],
			type: x.type || (streams ? "subscription" : method === "GET" || method === "QUERY" ? "query" : "mutation"),
			isJson: !media || /[/+]json/.test(media), schema: inputOf(parameters, body),
			text: [id, raw.summary, path, raw.description, ...(raw.tags || [])].join("\n").toLowerCase() };
	};
	for (const [path, item] of Object.entries(doc.paths || {}))
		for (const [method, raw] of Object.entries(item))
			if (/^(get|query|post|put|patch|delete)$/.test(method))
				all.push(read(raw, method.toUpperCase(), path, [...(item.parameters || []), ...(raw.parameters || [])].map(real)));
	return all.sort((a, b) => (a.id < b.id ? -1 : 1));
}

// Parameters and the members of a body are one input.
function inputOf(parameters, body) {
	if (!parameters.length) return body;
	const input = { type: "object", required: parameters.filter((p) => p.required).map((p) => p.name),
		properties: Object.fromEntries(parameters.map((p) => [p.name, { description: p.description, ...p.schema }])) };
	return body ? { allOf: [body, input] } : input;
}

// What is sent for an input: an argument of fetch, with its url.
export function request(op, input, credentials) {
	const headers = {}, query = [], rest = op.parameters.length ? { ...input } : input;
	let url = op.url, body;
	for (const p of op.parameters) {
		const value = input?.[p.name], texts = [].concat(value).map((v) => (typeof v === "object" && v ? JSON.stringify(v) : String(v)));
		delete rest[p.name];
		if (p.in === "path") url = url.replace(`{${p.name}}`, encodeURIComponent(value ?? ""));
		else if (p.in === "query" && value !== undefined) query.push(...texts.map((v) => encodeURIComponent(p.name) + "=" + encodeURIComponent(v)));
		else if (p.in === "header" && value !== undefined) headers[p.name] = texts.join(",");
	}
	if (op.media && rest !== undefined) {
		headers["Content-Type"] = op.media;
		body = op.isJson ? JSON.stringify(rest) : rest;
	}
	if (op.streams) headers.Accept = "text/event-stream";
	if (credentials) headers[credentials.name] = credentials.value;
	return { url: url + (query.length ? "?" + query.join("&") : ""), method: op.method, headers, body };
}

const quoted = (text) => "'" + String(text).replace(/'/g, "'\\''") + "'";

// The same for a shell, which has the secret in its variable TOKEN.
export function curl({ url, method, headers, body }, credentials) {
	const parts = ["curl -g" + (headers.Accept ? " -N" : "") + (method === "GET" ? " " : ` -X ${method} `) + quoted(url)];
	for (const [name, value] of Object.entries(headers))
		parts.push("-H " + (name === credentials?.name ? quoted(`${name}: ${credentials.shown}`) + '"$TOKEN"' : quoted(`${name}: ${value}`)));
	if (body !== undefined) parts.push(body instanceof Blob ? "--data-binary @" + quoted(body.name) : "--data-raw " + quoted(body));
	return parts.join(" \\\n  ");
}

// Reads an event stream (WHATWG HTML, 9.2) as it comes: calls `tell` for each event.
export async function events(response, tell) {
	const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
	let rest = "", event = { data: [] };
	for (;;) {
		const { value, done } = await reader.read();
		if (done) return;
		const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
		rest = lines.pop();
		for (const line of lines) {
			const [, name, text] = /^([^:]*):? ?([^]*)$/.exec(line);
			if (line === "") {
				if (event.data.length) tell({ ...event, data: event.data.join("\n") });
				event = { data: [] };
			} else if (name === "data") event.data.push(text);
			else event[name] = text;
		}
	}
}
