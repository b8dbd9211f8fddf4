--- Calls that Prism does not accept and notes on documents, each with its reason; anything else is a failure, and so
--- is one of these that no longer occurs.
return {
  ["file-uploads"] = {
    put_anything_multipart_formdata = "Prism keeps the last part of a name, as text: no array passes (see echo.lua)",
  },
  GitHub = {
    ["orgs_convert_member_to_outside_collaborator, 204"] = "null is no object; Prism takes it for no body",
    ["issues_update, spoiled"] = "Prism validates no body with a property that has nullable beside oneOf, without type",
  },
  ["train-travel"] = { ["#/webhooks"] = "webhooks are not operations" },
  ["train-travel, YAML"] = { ["#/webhooks"] = "webhooks are not operations" },
}
