// A GraphQL service of npm's packages: graphql with graphql-http, graphql-ws and graphql-sse. Prints its port.
//   /graphql     queries and mutations; subscriptions over WebSocket, and over SSE where text/event-stream is accepted
//   /stream      subscriptions over SSE only
//   /old         knows the introspection of 2018 only
//   /closed      refuses introspection
//   /persisted   knows a query by its hash after it was sent once; GET too
//   /upload      the multipart request specification
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';

const require = createRequire(process.env.GRAPHQL_PACKAGES + '/');
const { buildSchema, graphql, GraphQLError, NoSchemaIntrospectionCustomRule, parse, specifiedRules, validate } = require('graphql');
const { createHandler } = require('graphql-http/lib/use/http');
const sse = require('graphql-sse/lib/use/http');
const { useServer } = require('graphql-ws/use/ws');
const { WebSocketServer } = require('ws');

const schema = buildSchema(`
  scalar Upload
  type Query {
    hello(name: String = "world"): String!
    user(id: ID!): User
    users(first: Int, after: String, last: Int, before: String): UserConnection!
    fail(code: String, status: Int): String
    partial: Partial!
    header(name: String!): String
    slow(seconds: Float!): String
  }
  type Partial { good: String bad: String }
  type User { id: ID! name: String! friends(first: Int, after: String): UserConnection! }
  type UserConnection { nodes: [User!]! edges: [UserEdge!]! pageInfo: PageInfo! totalCount: Int! }
  type UserEdge { node: User! cursor: String! }
  type PageInfo { hasNextPage: Boolean! hasPreviousPage: Boolean! startCursor: String endCursor: String }
  input Place { city: String! zip: String }
  input By @oneOf { id: ID name: String }
  type Mutation {
    rename(id: ID!, name: String!): User!
    put(file: Upload!, note: String): String!
    putAll(files: [Upload!]!): [String!]!
    find(by: By!): User
    move(place: Place!): String!
    forbidden: String!
  }
  type Subscription { count(to: Int!, delay: Int): Int! flaky: Int greetings: Greeting! }
  type Greeting { text: String! by: User }
`);

const names = ['Ada', 'Bo', 'Cy', 'Di', 'Ed', 'Flo', 'Gus'];
const user = (i) => ({ id: String(i + 1), name: names[i], friends: (args) => page(args) });
const cursor = (i) => Buffer.from('user ' + i).toString('base64');

function page({ first, after, last, before }) {
  let all = names.map((_, i) => i);
  if (after) all = all.filter((i) => i > names.findIndex((_, k) => cursor(k) === after));
  if (before) all = all.filter((i) => i < names.findIndex((_, k) => cursor(k) === before));
  const count = all.length;
  let list = all;
  if (first != null) list = list.slice(0, first);
  if (last != null) list = list.slice(-last);
  return {
    nodes: list.map(user), edges: list.map((i) => ({ node: user(i), cursor: cursor(i) })), totalCount: names.length,
    pageInfo: {
      hasNextPage: list.length > 0 && list.at(-1) < names.length - 1 && list.at(-1) < all[count - 1] + (before ? 1 : 0),
      hasPreviousPage: list.length > 0 && list[0] > 0,
      startCursor: list.length ? cursor(list[0]) : null, endCursor: list.length ? cursor(list.at(-1)) : null,
    },
  };
}

const pause = (ms) => new Promise((wake) => setTimeout(wake, ms));
export let open = 0;

const root = {
  hello: ({ name }) => 'hello ' + name,
  user: ({ id }) => (names[id - 1] ? user(id - 1) : null),
  users: page,
  fail: ({ code, status }) => {
    throw new GraphQLError('it failed', { extensions: { ...(code && { code }), status } });
  },
  partial: { good: 'yes', bad: () => { throw new GraphQLError('bad is broken', { extensions: { code: 'BROKEN' } }); } },
  header: ({ name }, context) => context.headers[name.toLowerCase()] ?? null,
  slow: async ({ seconds }) => { await pause(seconds * 1000); return 'slept'; },
  rename: ({ id, name }) => ({ ...user(id - 1), name }),
  put: ({ file, note }) => `${file.filename} ${file.type} ${file.bytes.length} ${note ?? ''}`,
  putAll: ({ files }) => files.map((file) => file.filename + ' ' + file.bytes.toString('latin1')),
  find: ({ by }) => user(by.id ? by.id - 1 : names.indexOf(by.name)),
  move: ({ place }) => place.city,
  forbidden: () => { throw new GraphQLError('no', { extensions: { code: 'FORBIDDEN' } }); },
  async *count({ to, delay }) {
    open += 1;
    try {
      for (let i = 1; i <= to; i++) { if (delay) await pause(delay); yield { count: i }; }
    } finally { open -= 1; }
  },
  async *flaky() {
    yield { flaky: 1 };
    yield { flaky: () => { throw new GraphQLError('flaked'); } };
    yield { flaky: 3 };
  },
  async *greetings() { for (const i of [0, 1]) yield { greetings: { text: 'hi', by: user(i) } }; },
};

const contextOf = (request) => ({ headers: request.headers });
const options = { schema, rootValue: root, context: (request) => contextOf(request.raw) };
const plain = createHandler(options);
const closed = createHandler({ ...options, validationRules: [...specifiedRules, NoSchemaIntrospectionCustomRule] });
const stream = sse.createHandler({ schema, onSubscribe: (request, { query, variables, operationName }) => {
  const document = parse(query), flaws = validate(schema, document);
  return flaws.length ? [JSON.stringify({ errors: flaws }), { status: 400, statusText: 'Bad Request',
    headers: { 'content-type': 'application/json; charset=utf-8' } }] : { schema, document, variableValues: variables, operationName, rootValue: root,
    contextValue: contextOf(request.raw) };
} });

async function bodyOf(request) {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  return Buffer.concat(pieces);
}

function answer(response, status, value, type = 'application/graphql-response+json; charset=utf-8') {
  response.writeHead(status, { 'content-type': type, 'x-cost': '1' });
  response.end(JSON.stringify(value));
}

async function run(response, { query, variables, operationName }, request) {
  answer(response, 200, await graphql({ schema, rootValue: root, source: query, variableValues: variables,
    operationName, contextValue: contextOf(request) }));
}

const known = new Map();
const log = [];

async function persisted(request, response) {
  const params = new URL(request.url, 'http://x').searchParams;
  const message = request.method === 'GET' ? {
    query: params.get('query') ?? undefined, operationName: params.get('operationName') ?? undefined,
    variables: JSON.parse(params.get('variables') ?? 'null'), extensions: JSON.parse(params.get('extensions') ?? 'null'),
  } : JSON.parse(await bodyOf(request));
  const hash = message.extensions?.persistedQuery?.sha256Hash;
  log.push(`${request.method} ${message.query ? 'query' : ''}${hash ? ' hash' : ''}`);
  if (hash && message.query && createHash('sha256').update(message.query).digest('hex') === hash) {
    known.set(hash, message.query);
  } else if (hash && !message.query && !known.has(hash)) {
    return answer(response, 200, { errors: [{ message: 'PersistedQueryNotFound',
      extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' } }] });
  }
  return run(response, { ...message, query: message.query ?? known.get(hash) }, request);
}

// The multipart request specification, strictly: operations, map, then the files.
async function upload(request, response) {
  if (!request.headers['apollo-require-preflight']) return answer(response, 400, { errors: [{ message: 'CSRF' }] });
  const boundary = /boundary=(.+)$/.exec(request.headers['content-type'])[1];
  const parts = (await bodyOf(request)).toString('latin1').split('--' + boundary).slice(1, -1).map((text) => {
    const [head, ...rest] = text.replace(/^\r\n/, '').replace(/\r\n$/, '').split('\r\n\r\n');
    return { name: /name="([^"]*)"/.exec(head)[1], filename: /filename="([^"]*)"/.exec(head)?.[1],
      type: /content-type: (.+)/i.exec(head)?.[1], bytes: Buffer.from(rest.join('\r\n\r\n'), 'latin1') };
  });
  if (parts[0].name !== 'operations' || parts[1].name !== 'map') throw new Error('the order is wrong');
  const message = JSON.parse(parts[0].bytes), map = JSON.parse(parts[1].bytes);
  for (const [number, paths] of Object.entries(map)) {
    for (const path of paths) {
      const keys = path.split('.'), last = keys.pop();
      const owner = keys.reduce((value, key) => value[key], message);
      if (owner[last] !== null) throw new Error(path + ' is not null');
      owner[last] = parts.find((part) => part.name === number);
    }
  }
  return run(response, message, request);
}

async function old(request, response) {
  const message = JSON.parse(await bodyOf(request));
  const unknown = /isOneOf|specifiedByURL|args\(includeDeprecated/.exec(message.query);
  if (unknown) return answer(response, 400, { errors: [{ message: `Cannot query field "${unknown[0]}"` }] });
  return run(response, message, request);
}

const server = createServer(async (request, response) => {
  try {
    const path = new URL(request.url, 'http://x').pathname;
    if (path === '/old') return await old(request, response);
    if (path === '/closed') return await closed(request, response);
    if (path === '/persisted') return await persisted(request, response);
    if (path === '/upload') return await upload(request, response);
    if (path === '/log') return answer(response, 200, { log: log.splice(0), open }, 'application/json');
    if (path === '/throttled') {
      response.setHeader('retry-after', '7');
      return answer(response, 429, { errors: [{ message: 'slow down', extensions: { code: 'RATE_LIMITED' } }] });
    }
    if (path === '/stream' || request.headers.accept?.includes('text/event-stream')) {
      return await stream(request, response);
    }
    return await plain(request, response);
  } catch (err) {
    answer(response, 500, { errors: [{ message: String(err.stack) }] });
  }
});

const sockets = new WebSocketServer({ noServer: true });
useServer({ schema, roots: { query: root, mutation: root, subscription: root },
  onConnect: (context) => context.connectionParams?.token !== 'bad',
  context: (context) => contextOf(context.extra.request) }, sockets);
server.on('upgrade', (request, socket, head) => {
  if (new URL(request.url, 'http://x').pathname === '/graphql') {
    sockets.handleUpgrade(request, socket, head, (connection) => sockets.emit('connection', connection, request));
  } else {
    socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
  }
});

server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => process.exit()).resume();
