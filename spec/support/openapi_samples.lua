--- Documents with every kind of node that a reader looks at, twice where one is a reference.
local samples = {}

samples.openapi = [[{
  "openapi": "3.1.0", "info": {"title": "Test", "version": "1"},
  "servers": [{"url": "http://{host}", "variables": {"host": {"default": "x", "enum": ["x"]}}}],
  "security": [{"key": []}],
  "tags": [{"name": "t"}],
  "paths": {
    "/a/{id}": {
      "parameters": [{"$ref": "#/components/parameters/id"}],
      "post": {
        "operationId": "one", "tags": ["t"], "summary": "s", "deprecated": true,
        "parameters": [
          {"name": "q", "in": "query", "style": "form", "explode": false, "schema": {"type": "array", "minItems": 1}},
          {"name": "j", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}}
        ],
        "requestBody": {"required": true, "content": {
          "application/json": {"schema": {"$ref": "#/components/schemas/Pet"}},
          "multipart/form-data": {
            "schema": {"properties": {"f": {"type": "string", "format": "binary"}}},
            "encoding": {"f": {"contentType": "image/png", "headers": {"X": {"schema": {"type": "string"}}}}}
          }
        }},
        "responses": {
          "200": {"description": "", "headers": {"X": {"schema": {}}}, "links": {"next": {"operationId": "one"}},
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}},
              "text/event-stream": {"itemSchema": {"properties": {"data": {"type": "string"}}}}}},
          "4XX": {"$ref": "#/components/responses/bad"}
        }
      }
    },
    "/b": {"get": {"operationId": "two", "responses": {"default": {"description": ""}}}}
  },
  "components": {
    "parameters": {"id": {"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}},
    "responses": {"bad": {"description": "", "content": {
      "application/problem+json": {"schema": {"type": "object"}}}}},
    "schemas": {"Pet": {"type": ["object", "null"], "required": ["id"], "allOf": [{"type": "object"}], "properties": {
      "id": {"type": "integer", "readOnly": true}, "kids": {"items": {"$ref": "#/components/schemas/Pet"}}}
    }},
    "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
  },
  "webhooks": {"w": {"post": {}}}
}]]

samples.swagger = [[{
  "swagger": "2.0", "host": "x", "basePath": "/v1", "schemes": ["http"], "consumes": ["application/json"],
  "paths": {
    "/a": {"post": {"operationId": "one", "parameters": [
        {"name": "b", "in": "body", "schema": {"$ref": "#/definitions/Pet"}}, {"$ref": "#/parameters/q"}
      ], "responses": {"200": {"description": "", "schema": {"type": "array", "items": {"type": "string"}}}}}},
    "/f": {"post": {"operationId": "form", "consumes": ["multipart/form-data"], "parameters": [
        {"name": "f", "in": "formData", "type": "file"},
        {"name": "g", "in": "formData", "type": "array", "collectionFormat": "multi", "items": {"type": "string"}}
      ], "responses": {"404": {"$ref": "#/responses/gone"}}}},
    "/b": {"get": {"operationId": "two", "responses": {"default": {"description": ""}}}}
  },
  "parameters": {"q": {"name": "q", "in": "query", "type": "array", "items": {"type": "integer"}}},
  "responses": {"gone": {"description": "", "schema": {"type": "string"}}},
  "definitions": {"Pet": {"properties": {"id": {"type": "integer"}}}},
  "securityDefinitions": {"o": {"type": "oauth2", "flow": "implicit", "scopes": {}}}
}]]

return samples
