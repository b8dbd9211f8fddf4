--- What the documents of vendors, or the judge, are wrong in.
return {
  -- Calls that the judge refuses, by document and operation: a part of its reason.
  operations = {
    ["atlassian.com/jira"] = {
      addAttachment = "each of its properties being a part", -- multipart whose schema is no object
      -- Alternatives that a discriminator tells apart, which the judge does not read.
      evaluateJiraExpression = "must match exactly one schema in oneOf",
      -- The judge requires properties that are readOnly.
      updateCustomFieldConfiguration = "must have required property 'fieldContextId'",
      updateWorkflowTransitionRuleConfigurations = "must have required property 'key'",
    },
    ["docker.com/engine"] = { ContainerCreate = "expected object, got array" }, -- the document's own example
    ["stripe.com"] = { PostBillingPortalConfigurations = "was not present" }, -- an empty object as a form
    -- The judge reads what stands beside a reference, which 3.0 ignores.
    ["xero.com/xero_accounting"] = {
      createQuotes = "Contact: must be string", updateOrCreateQuotes = "Contact: must be string",
      updateQuote = "Contact: must be string",
    },
    ["linode.com"] = {
      -- \\A and \\Z are anchors of Ruby; the judge takes them for letters.
      cloneDomain = "must match pattern", createDomain = "must match pattern", updateDomain = "must match pattern",
      createFirewallDevice = "body : is read-only", -- the whole body
      updateDomainRecord = "must be equal to one of the allowed values", -- null, by nullable, is not in the enum
    },
    -- Objects in a list of a query have no form in OpenAPI; they go out as JSON.
    ["mastodon.local"] = { get_api_v1_markers = "timeline.0: must be object" },
    -- Members of enum of another type than the schema's, which the library converts and the judge compares.
    ["zoom.us"] = {
      reportTelephone = "one of the allowed values", updateSettingTemplate = "one of the allowed values",
      userTSP = "one of the allowed values", userTSPDelete = "one of the allowed values",
      userTSPUpdate = "one of the allowed values",
    },
  },
  -- How many operations have schemas for which no input was found: alternatives that overlap, properties that
  -- additionalProperties excludes, formats beside constants.
  impossible = {
    ["atlassian.com/jira"] = 5, ["digitalocean.com"] = 1,
    ["gitlab.com"] = 1, ["linode.com"] = 4, ["sendgrid.com"] = 1, ["shipengine.com"] = 20,
    ["vercel.com"] = 2, ["zoom.us"] = 5,
  },
  -- How many operations have no example of a call that their schemas accept.
  untried = { ["atlassian.com/jira"] = 2, ["shipengine.com"] = 15, ["zoom.us"] = 2 },
}
