// An account on Azure Cosmos DB for NoSQL as Onehop wants it: the database, the containers, and one identity that may
// read and write items. There are no account keys: the data plane admits Entra ID alone.
//
//   az deployment group create --resource-group blog --template-file deploy/main.bicep \
//     --parameters principalId=$(az ad signed-in-user show --query id --output tsv)
//
// The containers are those of `onehop provision`: containers.json is written by `onehop provision --print-definitions`,
// and a test compares the two.

targetScope = 'resourceGroup'

@description('Name of the account, unique in all of Azure.')
@minLength(3)
@maxLength(44)
param accountName string = 'onehop-${uniqueString(resourceGroup().id)}'

@description('Azure region.')
param location string = resourceGroup().location

@description('Database that holds the containers.')
param databaseName string = 'onehop'

@description('serverless: what is used is paid. autoscale: the containers share up to autoscaleMaxThroughput RU/s.')
@allowed([
  'serverless'
  'autoscale'
])
param capacity string = 'serverless'

@description('Most request units a second that the containers share, with capacity autoscale. A multiple of 1000.')
@minValue(1000)
param autoscaleMaxThroughput int = 1000

@description('Object id of the identity that runs Onehop: a managed identity, a service principal or a user.')
param principalId string

@description('Copy of the data in another availability zone of the region.')
param zoneRedundant bool = false

// Cosmos DB Built-in Data Contributor: items, queries and the change feed; no containers and no databases.
var dataContributor = '00000000-0000-0000-0000-000000000002'

resource account 'Microsoft.DocumentDB/databaseAccounts@2024-05-15' = {
  name: accountName
  location: location
  kind: 'GlobalDocumentDB'
  properties: {
    databaseAccountOfferType: 'Standard'
    locations: [
      {
        locationName: location
        failoverPriority: 0
        isZoneRedundant: zoneRedundant
      }
    ]
    // Conditional writes are judged by each write region for itself.
    enableMultipleWriteLocations: false
    consistencyPolicy: {
      defaultConsistencyLevel: 'Session'
    }
    capabilities: capacity == 'serverless' ? [
      {
        name: 'EnableServerless'
      }
    ] : []
    disableLocalAuth: true
    minimalTlsVersion: 'Tls12'
  }
}

resource database 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases@2024-05-15' = {
  parent: account
  name: databaseName
  properties: {
    resource: {
      id: databaseName
    }
    options: capacity == 'autoscale' ? {
      autoscaleSettings: {
        maxThroughput: autoscaleMaxThroughput
      }
    } : {}
  }
}

resource containers 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2024-05-15' = [
  for container in loadJsonContent('containers.json'): {
    parent: database
    name: container.id
    properties: {
      resource: container
    }
  }
]

resource roleAssignment 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2024-05-15' = {
  parent: account
  name: guid(account.id, principalId, dataContributor)
  properties: {
    principalId: principalId
    roleDefinitionId: '${account.id}/sqlRoleDefinitions/${dataContributor}'
    scope: account.id
  }
}

@description('For --cosmos-endpoint.')
output endpoint string = account.properties.documentEndpoint

@description('For --cosmos-database.')
output database string = databaseName
